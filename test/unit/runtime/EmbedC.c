/* The C interface as a C program uses it. Called by EmbedTest.cpp with an artifact of y[n, 16] = 1.5·Σx[n, 32] + 1; returns 0, or the
 * line whose expectation failed. */
#include "frontend/graphc/runtime_c.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(condition)                                                                                        \
  do {                                                                                                           \
    if (!(condition)) {                                                                                          \
      fprintf(stderr, "EmbedC.c:%d: %s\n", __LINE__, #condition);                                                \
      return __LINE__;                                                                                           \
    }                                                                                                            \
  } while (0)

struct done {
  float first;
  int code;
  volatile int called;
};

static void on_done(void *user, graphc_error *error, graphc_tensor *outputs, size_t count) {
  struct done *done = user;
  done->code = graphc_error_code(error);
  if (count == 1)
    done->first = ((float *)outputs[0].data)[0];
  for (size_t i = 0; i < count; ++i)
    graphc_tensor_release(&outputs[i]);
  graphc_error_free(error);
  __atomic_store_n(&done->called, 1, __ATOMIC_RELEASE);
}

static void wait_for(struct done *done) {
  while (!__atomic_load_n(&done->called, __ATOMIC_ACQUIRE))
    ;
}

static void count_line(void *user, const char *line) { *(int *)user += line[0] != '\0'; }

int embed_c(const char *path, const void *bytes, size_t size) {
  EXPECT(strlen(graphc_version()) >= 5);
  int lines = 0;
  graphc_runtime_options options = {2, NULL, 0, count_line, &lines};
  graphc_runtime *runtime = NULL;
  EXPECT(graphc_runtime_create(&options, &runtime) == NULL);
  EXPECT(graphc_runtime_threads(runtime) == 2);

  /* What is wrong is said with its code. */
  graphc_model *model = NULL;
  graphc_error *error = graphc_model_load(runtime, "/nowhere/model.gcx", &model);
  EXPECT(error && graphc_error_code(error) == 3001 && !model);
  EXPECT(strstr(graphc_error_text(error), "GC3001: '/nowhere/model.gcx'") == graphc_error_text(error));
  graphc_error_free(error);
  error = graphc_model_load_memory(runtime, bytes, size - 1, 0, &model);
  EXPECT(graphc_error_code(error) == 3002);
  graphc_error_free(error);

  EXPECT(graphc_model_load(runtime, path, &model) == NULL);
  EXPECT(graphc_model_input_count(model) == 1 && graphc_model_output_count(model) == 1 && graphc_model_symbol_count(model) == 1);
  graphc_port port;
  EXPECT(graphc_model_input(model, 0, &port) == NULL);
  EXPECT(strcmp(port.name, "x") == 0 && port.dtype == GRAPHC_F32 && port.rank == 2 && port.dims[0] == -1 && port.dims[1] == 32);
  EXPECT(strcmp(port.dim_text[0], "n") == 0);
  error = graphc_model_output(model, 1, &port);
  EXPECT(graphc_error_code(error) == 2008);
  graphc_error_free(error);
  graphc_symbol symbol;
  EXPECT(graphc_model_symbol(model, 0, &symbol) == NULL && symbol.lo == 1 && symbol.hi == 64);

  float x[3 * 32], y[3 * 16];
  for (int i = 0; i < 3 * 32; ++i)
    x[i] = 1.0f;
  graphc_tensor in = {GRAPHC_F32, 2, {3, 32}, x, NULL};
  /* An output of the caller's, then one the call allocates. */
  graphc_tensor out = {GRAPHC_F32, 2, {3, 16}, y, NULL};
  EXPECT(graphc_model_run(model, &in, 1, &out, 1, NULL) == NULL);
  EXPECT(y[0] == 49.0f && y[47] == 49.0f && out.owner == NULL);
  graphc_tensor made = {0};
  EXPECT(graphc_model_run(model, &in, 1, &made, 1, NULL) == NULL);
  EXPECT(made.data && made.owner && made.rank == 2 && made.dims[0] == 3 && made.dims[1] == 16 && ((float *)made.data)[47] == 49.0f);
  graphc_tensor_release(&made);
  EXPECT(made.data == NULL);
  graphc_tensor_release(&made);

  graphc_tensor bad = in;
  bad.dims[0] = 65;
  error = graphc_model_run(model, &bad, 1, &out, 1, NULL);
  EXPECT(graphc_error_code(error) == 2005);
  graphc_error_free(error);
  bad.rank = 17;
  error = graphc_model_run(model, &bad, 1, &out, 1, NULL);
  EXPECT(graphc_error_code(error) == 2002 || graphc_error_code(error) == 2003);
  graphc_error_free(error);
  bad = in;
  bad.dtype = 99;
  error = graphc_model_run(model, &bad, 1, &out, 1, NULL);
  EXPECT(graphc_error_code(error) == 2002);
  graphc_error_free(error);
  error = graphc_model_run(model, &in, 0, &out, 1, NULL);
  EXPECT(graphc_error_code(error) == 2001);
  graphc_error_free(error);
  error = graphc_model_run(model, &in, 1, NULL, 0, NULL);
  EXPECT(graphc_error_code(error) == 2007);
  graphc_error_free(error);

  /* Cancelled calls, flushed denormals, calls on the runtime's thread. */
  graphc_cancel *cancel = NULL;
  EXPECT(graphc_cancel_create(&cancel) == NULL);
  graphc_cancel_request(cancel);
  graphc_call_options call_options = {cancel, 1};
  error = graphc_model_run(model, &in, 1, &out, 1, &call_options);
  EXPECT(graphc_error_code(error) == 2011);
  graphc_error_free(error);
  struct done done = {0, 0, 0};
  EXPECT(graphc_model_run_async(model, &in, 1, &call_options, on_done, &done) == NULL);
  wait_for(&done);
  EXPECT(done.code == 2011);
  graphc_cancel_reset(cancel);
  struct done again = {0, 0, 0};
  EXPECT(graphc_model_run_async(model, &in, 1, &call_options, on_done, &again) == NULL);
  wait_for(&again);
  EXPECT(again.code == 0 && again.first == 49.0f);

  /* Bound once, called often; the buffers are read anew. */
  graphc_call *call = NULL;
  EXPECT(graphc_call_create(model, &in, 1, &out, 1, &call) == NULL);
  x[0] = 3.0f;
  EXPECT(graphc_call_run(call, NULL) == NULL && y[0] == 52.0f && y[16] == 49.0f);
  graphc_tensor view;
  EXPECT(graphc_call_output(call, 0, &view) == NULL && view.data == y && view.owner == NULL);
  graphc_call_free(call);
  EXPECT(graphc_call_create(model, &in, 1, &made, 1, &call) == NULL);
  EXPECT(graphc_call_run(call, &call_options) == NULL);
  EXPECT(graphc_call_output(call, 0, &view) == NULL && ((float *)view.data)[0] == 52.0f);

  int64_t predicted = 0;
  EXPECT(graphc_model_predict_bytes(model, &in, 1, &predicted) == NULL && predicted > 0);
  graphc_statistics statistics;
  graphc_model_statistics(model, &statistics);
  EXPECT(statistics.weight_bytes > 0 && statistics.contexts >= 1 && statistics.context_bytes_peak >= statistics.context_bytes);

  /* In any order: what still needs the runtime keeps it. */
  graphc_model *second = NULL;
  EXPECT(graphc_model_load_memory(runtime, bytes, size, 1, &second) == NULL);
  graphc_runtime_free(runtime);
  EXPECT(graphc_model_run(second, &in, 1, &out, 1, NULL) == NULL && y[0] == 52.0f);
  graphc_model_free(second);
  graphc_model_free(model);
  EXPECT(graphc_call_run(call, NULL) == NULL);
  graphc_call_free(call);
  graphc_cancel_free(cancel);
  graphc_model_free(NULL);
  graphc_error_free(NULL);
  return 0;
}
