/* The runtime for other languages: plain C over <graphc/runtime.h>, in the same library (graphc_runtime).
 *
 *   graphc_runtime *runtime;
 *   graphc_model *model;
 *   graphc_error *error = graphc_runtime_create(NULL, &runtime);
 *   if (!error) error = graphc_model_load(runtime, "resnet50.gcx", &model);
 *   graphc_tensor x = {GRAPHC_F32, 4, {1, 3, 224, 224}, pixels, NULL}, y = {0};
 *   if (!error) error = graphc_model_run(model, &x, 1, &y, 1, NULL);
 *   if (error) fprintf(stderr, "%s\n", graphc_error_text(error));
 *
 * Every function that can fail returns NULL when all went well, else an error to be freed with graphc_error_free().
 * A model may be used by any number of threads at once; a bound call by one at a time. Everything made by graphc_X_create or
 * _load is freed by graphc_X_free, in any order; freeing NULL does nothing. No C++ exception leaves these functions.
 */
#ifndef GRAPHC_RUNTIME_C_H
#define GRAPHC_RUNTIME_C_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors ---- */

typedef struct graphc_error graphc_error;
/* The number of the stable code: 2004 for GC2004. */
int graphc_error_code(const graphc_error *error);
/* "GC2004: input 'x': expected …"; lives as long as the error. */
const char *graphc_error_text(const graphc_error *error);
void graphc_error_free(graphc_error *error);

/* ---- tensors ---- */

enum graphc_dtype {
  GRAPHC_F64, GRAPHC_F32, GRAPHC_F16, GRAPHC_BF16, GRAPHC_I64, GRAPHC_I32, GRAPHC_I16, GRAPHC_I8, GRAPHC_U64, GRAPHC_U32, GRAPHC_U16, GRAPHC_U8, GRAPHC_BOOL
};
#define GRAPHC_MAX_RANK 16

/* Dense, row-major. As an input or a bound output, `data` is the caller's and `owner` is NULL. An output whose `data` is NULL is
 * allocated by the call: dtype, rank, dims and data are filled in, and graphc_tensor_release() gives the bytes back. */
typedef struct graphc_tensor {
  int32_t dtype; /* enum graphc_dtype */
  int32_t rank;
  int64_t dims[GRAPHC_MAX_RANK];
  void *data;
  void *owner;
} graphc_tensor;
void graphc_tensor_release(graphc_tensor *tensor);

/* ---- runtime ---- */

typedef struct graphc_runtime graphc_runtime;

typedef struct graphc_runtime_options {
  int32_t threads;         /* of one call, the caller's included; 0: the cores this process may use */
  const int32_t *affinity; /* cores for the pool's threads, in order; NULL: the system decides */
  size_t affinity_count;
  void (*log)(void *user, const char *line); /* remarks and warnings; called from any thread; may be NULL */
  void *log_user;
} graphc_runtime_options;

/* "0.1.0" */
const char *graphc_version(void);
/* options may be NULL. */
graphc_error *graphc_runtime_create(const graphc_runtime_options *options, graphc_runtime **runtime);
void graphc_runtime_free(graphc_runtime *runtime);
int32_t graphc_runtime_threads(const graphc_runtime *runtime);

/* ---- models ---- */

typedef struct graphc_model graphc_model;

graphc_error *graphc_model_load(graphc_runtime *runtime, const char *path, graphc_model **model);
/* With copy = 0 the bytes must stay as they are while the model lives. */
graphc_error *graphc_model_load_memory(graphc_runtime *runtime, const void *bytes, size_t size, int copy, graphc_model **model);
void graphc_model_free(graphc_model *model);

size_t graphc_model_input_count(const graphc_model *model);
size_t graphc_model_output_count(const graphc_model *model);

typedef struct graphc_port {
  const char *name; /* lives as long as the model */
  int32_t dtype;
  int32_t rank;
  int64_t dims[GRAPHC_MAX_RANK];         /* -1 where the size is chosen by the inputs or the data */
  const char *dim_text[GRAPHC_MAX_RANK]; /* "3", "n", "2*n + 1" */
} graphc_port;
/* index < count. */
graphc_error *graphc_model_input(const graphc_model *model, size_t index, graphc_port *port);
graphc_error *graphc_model_output(const graphc_model *model, size_t index, graphc_port *port);

typedef struct graphc_symbol {
  const char *name;
  int64_t lo, hi, multiple; /* sizes the model was compiled for; hi = INT64_MAX: no limit */
} graphc_symbol;
size_t graphc_model_symbol_count(const graphc_model *model);
graphc_error *graphc_model_symbol(const graphc_model *model, size_t index, graphc_symbol *symbol);

typedef struct graphc_statistics {
  int64_t weight_bytes, prepared_bytes, packed_bytes;
  int64_t contexts, context_bytes, context_bytes_peak;
} graphc_statistics;
void graphc_model_statistics(const graphc_model *model, graphc_statistics *statistics);
/* Bytes of temporary memory and allocated outputs a call with inputs of these shapes needs (data is not looked at). */
graphc_error *graphc_model_predict_bytes(const graphc_model *model, const graphc_tensor *inputs, size_t input_count, int64_t *bytes);

/* ---- calls ---- */

/* Set from any thread; the call stops before its next command with GC2011. */
typedef struct graphc_cancel graphc_cancel;
graphc_error *graphc_cancel_create(graphc_cancel **cancel);
void graphc_cancel_request(graphc_cancel *cancel);
void graphc_cancel_reset(graphc_cancel *cancel);
void graphc_cancel_free(graphc_cancel *cancel);

typedef struct graphc_call_options {
  const graphc_cancel *cancel; /* may be NULL */
  int flush_denormals;         /* tiny numbers count as zero while the call runs */
} graphc_call_options;

/* One tensor per input and output, in the model's order; options may be NULL. */
graphc_error *graphc_model_run(const graphc_model *model, const graphc_tensor *inputs, size_t input_count, graphc_tensor *outputs, size_t output_count,
                               const graphc_call_options *options);

/* The same on a thread of the runtime. The inputs' data must stay until `done` is called there, with an error (to be freed) or
 * with the outputs, which `done` may take over by copying the structs and must then release. */
typedef void (*graphc_done)(void *user, graphc_error *error, graphc_tensor *outputs, size_t output_count);
graphc_error *graphc_model_run_async(const graphc_model *model, const graphc_tensor *inputs, size_t input_count, const graphc_call_options *options,
                                     graphc_done done, void *user);

/* Arguments bound once, for many calls over the same buffers: a call resolves nothing and allocates nothing. Bound data must stay
 * where it is; outputs whose data is NULL are allocated once and described by graphc_call_output(). */
typedef struct graphc_call graphc_call;
graphc_error *graphc_call_create(const graphc_model *model, const graphc_tensor *inputs, size_t input_count, const graphc_tensor *outputs, size_t output_count,
                                 graphc_call **call);
graphc_error *graphc_call_run(graphc_call *call, const graphc_call_options *options);
/* A view of the output, not to be released. index < output count. */
graphc_error *graphc_call_output(const graphc_call *call, size_t index, graphc_tensor *output);
void graphc_call_free(graphc_call *call);

#ifdef __cplusplus
}
#endif
#endif
