#!/usr/bin/env python3
"""Compares `graphc bench` with PyPI's onnxruntime on the same models, one machine, one run.

  compare_onnxruntime.py [--threads N] [--seconds S] [--rounds R] [--json FILE] MODEL…

onnxruntime is called the cheapest way it has: IOBinding with outputs bound, sequential execution, N intra-op threads, no
spinning limits changed. A MODEL is a file or a folder that holds model.onnx; symbolic sizes become --symbol NAME=SIZE (or 1).

Needs the packages onnxruntime and numpy: python3 -m venv V && V/bin/pip install onnxruntime numpy
"""
import numpy as np
import onnxruntime as ort

from side_by_side import argument_parser, compare, fastest_ms, random_array, symbols_of

DTYPES = {
    "tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16, "tensor(int64)": np.int64,
    "tensor(int32)": np.int32, "tensor(int16)": np.int16, "tensor(int8)": np.int8, "tensor(uint8)": np.uint8, "tensor(bool)": np.bool_,
}


class OnnxRuntime:
    name, version = "onnxruntime", ort.__version__

    def __init__(self, model, threads, symbols):
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.log_severity_level = 3
        self.session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        generator = np.random.default_rng(0)
        self.inputs = {port.name: random_array(generator, [size if isinstance(size, int) else symbols.get(size, 1) for size in port.shape],
                                               DTYPES[port.type])
                       for port in self.session.get_inputs()}
        self.binding = self.session.io_binding()
        for name, array in self.inputs.items():
            self.binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(array))
        outputs = self.session.run(None, self.inputs)
        for port, array in zip(self.session.get_outputs(), outputs):
            if isinstance(array, np.ndarray) and array.dtype.kind in "fiub" and array.size:
                self.binding.bind_ortvalue_output(port.name, ort.OrtValue.ortvalue_from_numpy(array))
            else:
                self.binding.bind_output(port.name)

    def min_ms(self, seconds):
        return fastest_ms(lambda: self.session.run_with_iobinding(self.binding), seconds)


def main():
    arguments = argument_parser(__doc__.splitlines()[0]).parse_args()
    symbols = symbols_of(arguments)
    compare(arguments, lambda model, threads: OnnxRuntime(model, threads, symbols))


if __name__ == "__main__":
    main()
