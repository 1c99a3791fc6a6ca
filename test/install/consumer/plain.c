/* Runs an artifact with one input and one output of 2x3 floats, the input all ones. */
#include <graphc/runtime_c.h>

#include <stdio.h>

int main(int argc, char **argv) {
  float x[6] = {1, 1, 1, 1, 1, 1}, y[6];
  graphc_tensor in = {GRAPHC_F32, 2, {2, 3}, x, NULL}, out = {GRAPHC_F32, 2, {2, 3}, y, NULL};
  graphc_runtime *runtime = NULL;
  graphc_model *model = NULL;
  graphc_error *error = graphc_runtime_create(NULL, &runtime);
  if (!error)
    error = graphc_model_load(runtime, argc > 1 ? argv[1] : "", &model);
  if (!error)
    error = graphc_model_run(model, &in, 1, &out, 1, NULL);
  if (error) {
    fprintf(stderr, "plain: %s\n", graphc_error_text(error));
    graphc_error_free(error);
    return 1;
  }
  for (int i = 0; i < 6; ++i)
    printf("%g ", y[i]);
  printf("\n");
  graphc_model_free(model);
  graphc_runtime_free(runtime);
  return 0;
}
