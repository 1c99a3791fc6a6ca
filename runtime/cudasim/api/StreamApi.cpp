// Streams and events: creation, order, waiting, queries, values in memory.
#include "runtime/cudasim/api/Actions.h"

using namespace graphc::cudasim;

namespace {

CUresult createStream(Driver &driver, Context *context, CUstream *result, unsigned flags, int priority) {
  if (!result || (flags & ~CU_STREAM_NON_BLOCKING))
    return CUDA_ERROR_INVALID_VALUE;
  priority = std::clamp(priority, -5, 0);
  *result = reinterpret_cast<CUstream>(driver.createStream(context, Stream::Kind::User, flags, priority));
  return CUDA_SUCCESS;
}

CUresult value(Driver &driver, CUstream handle, CUdeviceptr address, uint64_t value, unsigned flags, bool wait,
               bool wide) {
  Stream *stream = driver.stream(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  MemoryRecord *record = driver.findMemory(address);
  if (!record || address % (wide ? 8 : 4) || (flags & ~unsigned(wait ? 3 | CU_STREAM_WAIT_VALUE_FLUSH : 1)))
    return CUDA_ERROR_INVALID_VALUE;
  auto action = std::make_shared<ValueAction>();
  action->wait = wait;
  action->wide = wide;
  action->flags = flags;
  action->address = address;
  action->value = value;
  return driver.submit(*stream, std::move(action));
}

CUresult record(Driver &driver, CUevent eventHandle, CUstream streamHandle, unsigned flags) {
  Event *event = driver.events.find(eventHandle);
  Stream *stream = driver.stream(streamHandle);
  if (!event || !stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (flags & ~unsigned(CU_EVENT_RECORD_EXTERNAL))
    return CUDA_ERROR_INVALID_VALUE;
  if (event->context != stream->context)
    return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture) {
    if (stream->capture->invalidated)
      return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (flags & CU_EVENT_RECORD_EXTERNAL) {
      GraphNode *node = driver.captureNode(*stream, std::make_shared<EventAction>(true, event));
      node->event = event;
      return CUDA_SUCCESS;
    }
    // Inside a capture an event is no node: it stands for what its stream's next node would depend on.
    event->capture = stream->capture;
    event->captureId = stream->capture->id;
    event->captured = stream->capture->frontier[stream];
    return CUDA_SUCCESS;
  }
  if (flags & CU_EVENT_RECORD_EXTERNAL)
    return CUDA_ERROR_ILLEGAL_STATE;
  if (CUresult refusal = driver.refuseLegacyInCapture(*stream))
    return refusal;
  OperationRef queued = driver.enqueue(*stream, std::make_shared<EventAction>(true, event));
  event->record = queued;
  event->clock = queued->clock;
  event->capture = nullptr;
  event->captured.clear();
  return CUDA_SUCCESS;
}

} // namespace

extern "C" {

CUresult cuStreamCreate(CUstream *result, unsigned flags) {
  CUDASIM_ENTER(Live);
  return createStream(driver, context, result, flags, 0);
}

CUresult cuStreamCreateWithPriority(CUstream *result, unsigned flags, int priority) {
  CUDASIM_ENTER(Live);
  return createStream(driver, context, result, flags, priority);
}

CUresult cuStreamDestroy_v2(CUstream handle) {
  CUDASIM_ENTER(Context);
  Stream *stream = driver.streams.find(handle);
  if (!stream || stream->kind != Stream::Kind::User)
    return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture)
    driver.invalidate(*stream->capture);
  for (Capture *capture : driver.captures.all()) {
    capture->frontier.erase(stream);
    if (capture->origin == stream)
      capture->origin = nullptr;
  }
  // Returns at once; queued work still runs. Blocking streams stay ordered with the legacy stream even so.
  if (stream->blocking() && stream->last && !stream->last->done) {
    Stream &legacy = *stream->context->legacy;
    driver.enqueue(legacy, makeMarker("end of a destroyed stream"));
  }
  std::erase(stream->context->streams, stream);
  driver.slots.release(stream->slot);
  if (stream->last && !stream->last->done)
    stream->context->orphans.push_back({stream->last, stream->clock});
  driver.streams.erase(stream);
  return CUDA_SUCCESS;
}

CUresult cuStreamDestroy(CUstream stream) { return cuStreamDestroy_v2(stream); }

CUresult cuStreamGetPriority(CUstream handle, int *priority) {
  CUDASIM_ENTER(Context);
  Stream *stream = driver.stream(handle);
  if (!stream || !priority)
    return stream ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
  *priority = stream->priority;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetFlags(CUstream handle, unsigned *flags) {
  CUDASIM_ENTER(Context);
  Stream *stream = driver.stream(handle);
  if (!stream || !flags)
    return stream ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
  *flags = stream->flags;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetId(CUstream handle, unsigned long long *id) {
  CUDASIM_ENTER(Context);
  Stream *stream = driver.stream(handle);
  if (!stream || !id)
    return stream ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
  *id = stream->id;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext *result) {
  CUDASIM_ENTER(Context);
  Stream *stream = driver.stream(handle);
  if (!stream || !result)
    return stream ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
  *result = reinterpret_cast<CUcontext>(stream->context);
  return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx_v2(CUstream handle, CUcontext *result, CUgreenCtx *green) {
  if (green)
    *green = nullptr;
  return cuStreamGetCtx(handle, result);
}

CUresult cuStreamGetDevice(CUstream handle, CUdevice *device) {
  CUDASIM_ENTER(Context);
  Stream *stream = driver.stream(handle);
  if (!stream || !device)
    return stream ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
  *device = stream->context->device->ordinal;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetAttribute(CUstream handle, CUstreamAttrID attribute, CUstreamAttrValue *result) {
  CUDASIM_ENTER(Context);
  Stream *stream = driver.stream(handle);
  if (!stream || !result)
    return stream ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
  auto it = stream->attributes.find(attribute);
  *result = {};
  if (it != stream->attributes.end())
    *result = it->second;
  else if (attribute == CU_LAUNCH_ATTRIBUTE_PRIORITY)
    result->priority = stream->priority;
  return CUDA_SUCCESS;
}

CUresult cuStreamSetAttribute(CUstream handle, CUstreamAttrID attribute, const CUstreamAttrValue *given) {
  CUDASIM_ENTER(Context);
  Stream *stream = driver.stream(handle);
  if (!stream || !given)
    return stream ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
  stream->attributes[attribute] = *given;
  if (attribute == CU_LAUNCH_ATTRIBUTE_PRIORITY)
    stream->priority = std::clamp(given->priority, -5, 0);
  return CUDA_SUCCESS;
}

CUresult cuStreamCopyAttributes(CUstream to, CUstream from) {
  CUDASIM_ENTER(Context);
  Stream *a = driver.stream(to), *b = driver.stream(from);
  if (!a || !b)
    return CUDA_ERROR_INVALID_HANDLE;
  a->attributes = b->attributes;
  return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream handle) {
  CUDASIM_ENTER(Context);
  Stream *stream = driver.stream(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture) {
    driver.invalidate(*stream->capture);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  if (CUresult refusal = driver.refuseLegacyInCapture(*stream))
    return refusal;
  return driver.synchronise(*stream);
}

CUresult cuStreamQuery(CUstream handle) {
  CUDASIM_ENTER(Context);
  Stream *stream = driver.stream(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture) {
    driver.invalidate(*stream->capture);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  if (CUresult refusal = driver.refuseLegacyInCapture(*stream))
    return refusal;
  if (CUresult refusal = driver.refuseInCapture())
    return refusal;
  if (context->failure)
    return context->outcome();
  if (stream->kind == Stream::Kind::Legacy)
    for (Stream *other : stream->context->streams)
      if (other->blocking() && other->last && !other->last->done) {
        driver.scheduler.stepTowards(OperationRef(other->last));
        return CUDA_ERROR_NOT_READY;
      }
  if (stream->last && !stream->last->done) {
    driver.scheduler.stepTowards(OperationRef(stream->last));
    return CUDA_ERROR_NOT_READY;
  }
  // A successful query is a synchronisation.
  return driver.synchronise(*stream);
}

CUresult cuStreamWaitEvent(CUstream streamHandle, CUevent eventHandle, unsigned flags) {
  CUDASIM_ENTER(Live);
  Stream *stream = driver.stream(streamHandle);
  Event *event = driver.events.find(eventHandle);
  if (!stream || !event)
    return CUDA_ERROR_INVALID_HANDLE;
  if (flags & ~unsigned(CU_EVENT_WAIT_EXTERNAL))
    return CUDA_ERROR_INVALID_VALUE;
  bool external = flags & CU_EVENT_WAIT_EXTERNAL;
  Capture *theirs = event->capture && driver.captures.find(event->capture) && event->capture->id == event->captureId
                        ? event->capture
                        : nullptr;
  if (stream->capture && external) {
    GraphNode *node = driver.captureNode(*stream, std::make_shared<EventAction>(false, event));
    node->event = event;
    return CUDA_SUCCESS;
  }
  if (stream->capture && stream->capture->invalidated)
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!stream->capture && !theirs) {
    if (CUresult refusal = driver.refuseLegacyInCapture(*stream))
      return refusal;
    if (!event->record)
      return CUDA_SUCCESS; // never recorded: nothing to wait for
    std::vector<OperationRef> extra{event->record};
    driver.enqueue(*stream, std::make_shared<EventAction>(false, event), extra, &event->clock);
    return CUDA_SUCCESS;
  }
  if (stream->capture && !theirs) {
    if (!event->record)
      return CUDA_SUCCESS;
    driver.invalidate(*stream->capture);
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  if (theirs->invalidated)
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (stream->capture && stream->capture != theirs) {
    driver.invalidate(*stream->capture);
    driver.invalidate(*theirs);
    return CUDA_ERROR_STREAM_CAPTURE_MERGE;
  }
  if (stream->kind == Stream::Kind::Legacy) {
    driver.invalidate(*theirs);
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  // The stream joins the capture.
  stream->capture = theirs;
  auto &frontier = theirs->frontier[stream];
  for (GraphNode *node : event->captured)
    if (std::find(frontier.begin(), frontier.end(), node) == frontier.end())
      frontier.push_back(node);
  return CUDA_SUCCESS;
}

// ------------------------------------------------------------------------------------------------ events

CUresult cuEventCreate(CUevent *result, unsigned flags) {
  CUDASIM_ENTER(Live);
  if (!result || (flags & ~7u))
    return CUDA_ERROR_INVALID_VALUE;
  if (flags & CU_EVENT_INTERPROCESS)
    return CUDA_ERROR_NOT_SUPPORTED;
  auto event = std::make_unique<Event>();
  event->context = context;
  event->flags = flags;
  *result = reinterpret_cast<CUevent>(driver.events.add(std::move(event)));
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent handle) {
  CUDASIM_ENTER(Context);
  Event *event = driver.events.find(handle);
  if (!event)
    return CUDA_ERROR_INVALID_HANDLE;
  driver.events.erase(event);
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent event) { return cuEventDestroy_v2(event); }

CUresult cuEventRecord(CUevent event, CUstream stream) {
  CUDASIM_ENTER(Live);
  return record(driver, event, stream, 0);
}

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
  CUDASIM_ENTER(Live);
  return record(driver, event, stream, flags);
}

CUresult cuEventSynchronize(CUevent handle) {
  CUDASIM_ENTER(Context);
  Event *event = driver.events.find(handle);
  if (!event)
    return CUDA_ERROR_INVALID_HANDLE;
  if (event->capture && driver.captures.find(event->capture)) {
    driver.invalidate(*event->capture);
    return CUDA_ERROR_CAPTURED_EVENT;
  }
  if (!event->record)
    return CUDA_SUCCESS;
  VectorClock clock = event->clock;
  return driver.waitFor(OperationRef(event->record), clock, event->context);
}

CUresult cuEventQuery(CUevent handle) {
  CUDASIM_ENTER(Context);
  Event *event = driver.events.find(handle);
  if (!event)
    return CUDA_ERROR_INVALID_HANDLE;
  if (event->capture && driver.captures.find(event->capture)) {
    driver.invalidate(*event->capture);
    return CUDA_ERROR_CAPTURED_EVENT;
  }
  if (CUresult refusal = driver.refuseInCapture())
    return refusal;
  if (event->context->failure)
    return event->context->outcome();
  if (!event->record)
    return CUDA_SUCCESS;
  if (!event->record->done) {
    driver.scheduler.stepTowards(OperationRef(event->record));
    return CUDA_ERROR_NOT_READY;
  }
  VectorClock clock = event->clock;
  return driver.waitFor(OperationRef(event->record), clock, event->context);
}

CUresult cuEventElapsedTime_v2(float *milliseconds, CUevent startHandle, CUevent endHandle) {
  CUDASIM_ENTER(Live);
  Event *start = driver.events.find(startHandle), *end = driver.events.find(endHandle);
  if (!start || !end)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!milliseconds)
    return CUDA_ERROR_INVALID_VALUE;
  if ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING || !start->record || !end->record)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!start->record->done || !end->record->done)
    return CUDA_ERROR_NOT_READY;
  *milliseconds = float((end->record->endSeconds - start->record->endSeconds) * 1e3);
  return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end) {
  return cuEventElapsedTime_v2(milliseconds, start, end);
}

CUresult cuCtxRecordEvent(CUcontext handle, CUevent eventHandle) {
  CUDASIM_ENTER(Init);
  Context *target = driver.contexts.find(handle);
  Event *event = driver.events.find(eventHandle);
  if (!target)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (!event || event->context != target)
    return CUDA_ERROR_INVALID_HANDLE;
  // Everything queued in the context: the legacy stream's successors see blocking streams, so name the rest.
  std::vector<OperationRef> extra;
  VectorClock clock;
  for (Stream *stream : target->streams) {
    if (stream->capture) {
      driver.invalidate(*stream->capture);
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    if (stream->last)
      extra.push_back(stream->last);
    clock.join(stream->clock);
  }
  uint32_t slot = driver.slots.acquire(driver.hostClock);
  clock.join(driver.hostClock);
  event->record = driver.enqueueAt(target, slot, clock, extra, std::make_shared<EventAction>(true, event), "context");
  event->clock = event->record->clock;
  driver.slots.release(slot);
  return CUDA_SUCCESS;
}

CUresult cuCtxWaitEvent(CUcontext handle, CUevent eventHandle) {
  CUDASIM_ENTER(Init);
  Context *target = driver.contexts.find(handle);
  Event *event = driver.events.find(eventHandle);
  if (!target)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (!event)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!event->record)
    return CUDA_SUCCESS;
  for (Stream *stream : std::vector<Stream *>(target->streams)) {
    if (stream->capture) {
      driver.invalidate(*stream->capture);
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    driver.enqueue(*stream, std::make_shared<EventAction>(false, event), {event->record}, &event->clock);
  }
  return CUDA_SUCCESS;
}

// ------------------------------------------------------------------------------------------------ memory values

CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t given, unsigned flags) {
  CUDASIM_ENTER(Live);
  return value(driver, stream, address, given, flags, false, false);
}
CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t given, unsigned flags) {
  CUDASIM_ENTER(Live);
  return value(driver, stream, address, given, flags, false, true);
}
CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t given, unsigned flags) {
  CUDASIM_ENTER(Live);
  return value(driver, stream, address, given, flags, true, false);
}
CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t given, unsigned flags) {
  CUDASIM_ENTER(Live);
  return value(driver, stream, address, given, flags, true, true);
}
CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address, cuuint32_t given, unsigned flags) {
  return cuStreamWriteValue32_v2(stream, address, given, flags);
}
CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr address, cuuint64_t given, unsigned flags) {
  return cuStreamWriteValue64_v2(stream, address, given, flags);
}
CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr address, cuuint32_t given, unsigned flags) {
  return cuStreamWaitValue32_v2(stream, address, given, flags);
}
CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr address, cuuint64_t given, unsigned flags) {
  return cuStreamWaitValue64_v2(stream, address, given, flags);
}

CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned count, CUstreamBatchMemOpParams *params, unsigned flags) {
  CUDASIM_ENTER(Live);
  if (!params || !count || count > 256 || flags)
    return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count; ++i) {
    const auto &p = params[i];
    CUresult result = CUDA_SUCCESS;
    switch (p.operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
      result = value(driver, stream, p.waitValue.address, p.waitValue.value, p.waitValue.flags, true, false);
      break;
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
      result = value(driver, stream, p.waitValue.address, p.waitValue.value64, p.waitValue.flags, true, true);
      break;
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
      result = value(driver, stream, p.writeValue.address, p.writeValue.value, p.writeValue.flags, false, false);
      break;
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
      result = value(driver, stream, p.writeValue.address, p.writeValue.value64, p.writeValue.flags, false, true);
      break;
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
    case CU_STREAM_MEM_OP_BARRIER:
      break;
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
    }
    if (result)
      return result;
  }
  return CUDA_SUCCESS;
}

} // extern "C"
