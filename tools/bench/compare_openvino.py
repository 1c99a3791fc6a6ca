#!/usr/bin/env python3
"""Compares `graphc bench --amp bf16` with PyPI's openvino at bf16 on the same models, one machine, one run.

  compare_openvino.py [--precision bf16|f32] [--threads N] [--seconds S] [--rounds R] [--json FILE] MODEL…

openvino gets INFERENCE_PRECISION_HINT, the LATENCY hint, one stream and N threads, and is called the cheapest way it has: one
request whose inputs are set once, inferred synchronously, its outputs left where they are. A MODEL is a file or a folder that
holds model.onnx; unknown sizes become --symbol NAME=SIZE (or 1). bf16 means something on CPUs with AVX512_BF16 or AMX only.

Needs the packages openvino and numpy: python3 -m venv V && V/bin/pip install openvino numpy
"""
import numpy as np
import openvino as ov

from side_by_side import argument_parser, compare, fastest_ms, random_array, symbols_of


class OpenVino:
    name, version = "openvino", ov.__version__.split("-")[0]

    def __init__(self, model, threads, precision, symbols):
        core = ov.Core()
        network = core.read_model(model)
        shapes = {}
        for port in network.inputs:
            sizes = [size.get_length() if size.is_static else symbols.get(str(size), 1) for size in port.get_partial_shape()]
            shapes[port.get_any_name()] = sizes
        if any(port.get_partial_shape().is_dynamic for port in network.inputs):
            network.reshape(shapes)
        self.compiled = core.compile_model(network, "CPU", {
            "INFERENCE_PRECISION_HINT": precision, "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1, "INFERENCE_NUM_THREADS": threads})
        self.request = self.compiled.create_infer_request()
        generator = np.random.default_rng(0)
        self.inputs = {}
        for port in self.compiled.inputs:
            array = random_array(generator, shapes[port.get_any_name()], port.element_type.to_dtype())
            self.inputs[port.get_any_name()] = array
            self.request.set_tensor(port, ov.Tensor(array))

    def min_ms(self, seconds):
        return fastest_ms(self.request.infer, seconds)


def main():
    parser = argument_parser(__doc__.splitlines()[0])
    parser.add_argument("--precision", choices=["bf16", "f32"], default="bf16", help="of both sides (default: bf16)")
    arguments = parser.parse_args()
    symbols = symbols_of(arguments)
    options = ["--amp", "bf16"] if arguments.precision == "bf16" else []
    compare(arguments, lambda model, threads: OpenVino(model, threads, arguments.precision, symbols), options)


if __name__ == "__main__":
    main()
