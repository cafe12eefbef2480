// Exact RTRL through a block of stored steps, for networks whose units meet only in W_hh.
//
// One model, one step: state (state_blocks * units), pre-activations ("gates", gate_blocks * units).
// The step's Jacobian is on_gates, around and W_hh: a cotangent c on the new state is
//     delta = sum_j on_gates[j] * c[j]                  on the gates, unit by unit, and
//     sum_j around[j] * c[j] + W_hh^T delta             on the state before (W_hh: on the first block).
// All arrays are row-major, newest step first where there are steps, models before all but steps.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

namespace {

struct Shape {
  int64_t models, steps, units, state_blocks, gate_blocks, inputs, threads;
  int64_t state() const { return state_blocks * units; }
  int64_t gates() const { return gate_blocks * units; }
};

// Columns of P that are gone through at a time: long enough for the processor to read ahead.
constexpr int64_t PANEL = 2048;

// Vector registers, and the rows of a tile that leave some of them free.
#if defined(__AVX512F__)
constexpr int REGISTER_BYTES = 64, ROWS = 8;
#elif defined(__AVX__)
constexpr int REGISTER_BYTES = 32, ROWS = 4;
#elif defined(__aarch64__)
constexpr int REGISTER_BYTES = 16, ROWS = 8;
#else
constexpr int REGISTER_BYTES = 16, ROWS = 4;
#endif

template <typename T>
struct Vector {
  typedef T Register __attribute__((vector_size(REGISTER_BYTES)));
  // The same, wherever in memory it lies.
  typedef T Unaligned __attribute__((vector_size(REGISTER_BYTES), aligned(alignof(T)), may_alias));
};

template <typename T>
typename Vector<T>::Register load(const T* from) {
  return *reinterpret_cast<const typename Vector<T>::Unaligned*>(from);
}

// sum (width) += weights (rows) times rows (rows, width): rows are read once, as they lie in memory.
template <typename T>
void add_weighted(const T* weights, const T* rows, int64_t row, int64_t count, int64_t width, T* sum) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const T* r = rows + i * row;
    T w[8];
    std::copy_n(weights + i, 8, w);
#pragma omp simd
    for (int64_t x = 0; x < width; ++x)
      sum[x] += w[0] * r[x] + w[1] * r[x + row] + w[2] * r[x + 2 * row] + w[3] * r[x + 3 * row] +
                w[4] * r[x + 4 * row] + w[5] * r[x + 5 * row] + w[6] * r[x + 6 * row] +
                w[7] * r[x + 7 * row];
  }
  for (; i < count; ++i) {
    const T w = weights[i];
#pragma omp simd
    for (int64_t x = 0; x < width; ++x) sum[x] += w * rows[i * row + x];
  }
}

// A matrix: element (r, c) is data[r * row + c * column].
template <typename T>
struct Matrix {
  const T* data;
  int64_t row, column;
};

template <typename T>
constexpr int64_t LANES = REGISTER_BYTES / sizeof(T);

// Registers across a tile, at most.
constexpr int64_t ACROSS = 3;

// The right factor of a product, (depth, width), in tiles of whole registers, one after the other
// in memory; what is beyond the width is zero.
template <typename T>
struct Tiles {
  int64_t depth, width;
  std::vector<T> data;

  Tiles(int64_t depth, int64_t width)
      : depth(depth), width(width), data(depth * ((width + LANES<T> - 1) / LANES<T> * LANES<T>)) {}

  int64_t registers_at(int64_t x) const {
    return std::min(ACROSS, (width - x + LANES<T> - 1) / LANES<T>);
  }

  // Copy `count` rows to where row `first` begins.
  void set(int64_t first, const T* rows, int64_t row, int64_t count) {
    T* tile = data.data();
    for (int64_t x = 0; x < width; x += ACROSS * LANES<T>) {
      const int64_t across = registers_at(x) * LANES<T>, present = std::min(across, width - x);
      for (int64_t k = 0; k < count; ++k)
#pragma omp simd
        for (int64_t c = 0; c < present; ++c)
          tile[(first + k) * across + c] = rows[k * row + x + c];
      tile += depth * across;
    }
  }
};

// One tile of out += a b; its last register may be out's in part.
template <int HEIGHT, int REGISTERS, typename T>
void add_tile(Matrix<T> a, const T* b, int64_t depth, int64_t width, T* out, int64_t out_row) {
  using Register = typename Vector<T>::Register;
  Register sum[HEIGHT][REGISTERS] = {};
  for (int64_t k = 0; k < depth; ++k) {
    Register of_b[REGISTERS];
    for (int c = 0; c < REGISTERS; ++c) of_b[c] = load(b + (k * REGISTERS + c) * LANES<T>);
    for (int r = 0; r < HEIGHT; ++r)
      for (int c = 0; c < REGISTERS; ++c) sum[r][c] += a.data[r * a.row + k * a.column] * of_b[c];
  }
  T sums[HEIGHT][REGISTERS * LANES<T>];
  std::memcpy(sums, sum, sizeof sum);
  for (int r = 0; r < HEIGHT; ++r)
#pragma omp simd
    for (int64_t x = 0; x < width; ++x) out[r * out_row + x] += sums[r][x];
}

template <int REGISTERS, typename T>
void add_tiles(int64_t rows, Matrix<T> a, const T* b, int64_t depth, int64_t width, T* out,
               int64_t out_row) {
  for (; rows >= ROWS; rows -= ROWS, a.data += ROWS * a.row, out += ROWS * out_row)
    add_tile<ROWS, REGISTERS>(a, b, depth, width, out, out_row);
  for (; rows > 0; --rows, a.data += a.row, out += out_row)
    add_tile<1, REGISTERS>(a, b, depth, width, out, out_row);
}

// out (rows, width) += a (rows, depth) b (depth, width).
template <typename T>
void add_product(int64_t rows, Matrix<T> a, const Tiles<T>& b, T* out, int64_t out_row) {
  const T* tile = b.data.data();
  for (int64_t x = 0; x < b.width; x += ACROSS * LANES<T>) {
    const int64_t registers = b.registers_at(x), across = registers * LANES<T>;
    const auto add = registers == 1   ? add_tiles<1, T>
                     : registers == 2 ? add_tiles<2, T>
                                      : add_tiles<3, T>;
    add(rows, a, tile, b.depth, std::min(across, b.width - x), out + x, out_row);
    tile += b.depth * across;
  }
}

// out[o] = sum_j jacobian[j, o] * cotangent[j], blocks of `units` numbers each.
template <typename T>
void unit_by_unit(const Shape& s, const T* jacobian, int64_t blocks, const T* cotangent, T* out) {
  std::fill(out, out + blocks * s.units, T(0));
  for (int64_t j = 0; j < s.state_blocks; ++j)
    for (int64_t o = 0; o < blocks; ++o) {
      const T* from = jacobian + (j * blocks + o) * s.units;
      const T* c = cotangent + j * s.units;
      T* to = out + o * s.units;
#pragma omp simd
      for (int64_t u = 0; u < s.units; ++u) to[u] += from[u] * c[u];
    }
}

// Cotangents (count, state) pulled back through the `stored` newest steps of a model; what they are
// on the gates on their way, (count, gates), goes to take(step, delta), newest step first.
template <typename T, typename Take>
void pull(const Shape& s, int64_t model, int64_t first, int64_t count, const T* W_hh,
          const T* on_gates, const T* around, std::vector<T>& cotangents, Take take) {
  const int64_t gates = s.gates(), state = s.state();
  std::vector<T> before(count * state), delta(count * gates);
  Tiles<T> weights(count > 1 ? gates : 0, s.units);
  for (int64_t step = first; step < s.steps; ++step) {
    const int64_t at = step * s.models + model;
    for (int64_t c = 0; c < count; ++c) {
      const T* cotangent = cotangents.data() + c * state;
      unit_by_unit(s, on_gates + at * s.state_blocks * gates, s.gate_blocks, cotangent,
                   delta.data() + c * gates);
      unit_by_unit(s, around + at * s.state_blocks * state, s.state_blocks, cotangent,
                   before.data() + c * state);
    }
    const T* W = W_hh + at * gates * s.units;
    if (count == 1) {
      add_weighted(delta.data(), W, s.units, gates, s.units, before.data());
    } else {
      weights.set(0, W, s.units, gates);
      add_product(count, {delta.data(), gates, 1}, weights, before.data(), state);
    }
    take(step - first, delta.data());
    std::swap(cotangents, before);
  }
}

template <typename T>
void gradient(const Shape& s, int64_t stored, const T* P, const T* W_hh, const T* on_gates,
              const T* around, const T* inputs, const T* cotangent, T* out) {
  const int64_t gates = s.gates(), state = s.state(), width = gates * s.inputs;
  const int64_t first = s.steps - stored, panels = (width + PANEL - 1) / PANEL;
  std::vector<T> on_start(state), deltas(stored * gates);
  Tiles<T> of_inputs(stored, s.inputs);
  for (int64_t model = 0; model < s.models; ++model) {
    std::copy_n(cotangent + model * state, state, on_start.data());
    pull(s, model, first, 1, W_hh, on_gates, around, on_start, [&](int64_t step, const T* delta) {
      std::copy_n(delta, gates, deltas.data() + step * gates);
    });
    T* sum = out + model * width;
    std::fill(sum, sum + width, T(0));
    of_inputs.set(0, inputs + (first * s.models + model) * s.inputs, s.models * s.inputs, stored);
    add_product(gates, {deltas.data(), 1, gates}, of_inputs, sum, s.inputs);
    const T* rows = P + model * state * width;
#pragma omp parallel for num_threads(s.threads) if (s.threads > 1)
    for (int64_t i = 0; i < panels; ++i) {
      // To and fro: what the last step read last is still in the cache.
      const int64_t at = PANEL * (stored % 2 ? i : panels - 1 - i);
      add_weighted(on_start.data(), rows + at, width, state, std::min(PANEL, width - at), sum + at);
    }
  }
}

template <typename T>
void rebuild(const Shape& s, T* P, const T* W_hh, const T* on_gates, const T* around,
             const T* inputs) {
  const int64_t gates = s.gates(), state = s.state(), width = gates * s.inputs;
  const int64_t of_gate = s.steps * state;
  std::vector<T> on_start(state * state), deltas(gates * of_gate);
  Tiles<T> of_inputs(s.steps, s.inputs);
  for (int64_t model = 0; model < s.models; ++model) {
    std::fill(on_start.begin(), on_start.end(), T(0));
    for (int64_t i = 0; i < state; ++i) on_start[i * state + i] = T(1);
    pull(s, model, 0, state, W_hh, on_gates, around, on_start, [&](int64_t step, const T* delta) {
      T* at_step = deltas.data() + step * state;
      for (int64_t gate = 0; gate < gates; ++gate)
        for (int64_t i = 0; i < state; ++i) at_step[gate * of_gate + i] = delta[i * gates + gate];
    });
    of_inputs.set(0, inputs + model * s.inputs, s.models * s.inputs, s.steps);
#pragma omp parallel num_threads(s.threads) if (s.threads > 1)
    {
      // P of a gate after the block is on_start times P before, and its deltas times inputs.
      Tiles<T> before(state, s.inputs);
#pragma omp for
      for (int64_t gate = 0; gate < gates; ++gate) {
        T* P_gate = P + model * state * width + gate * s.inputs;
        before.set(0, P_gate, width, state);
        for (int64_t i = 0; i < state; ++i) std::fill_n(P_gate + i * width, s.inputs, T(0));
        add_product(state, {on_start.data(), state, 1}, before, P_gate, width);
        add_product(state, {deltas.data() + gate * of_gate, 1, state}, of_inputs, P_gate, width);
      }
    }
  }
}

// 0, or 1 where there is not the memory: no exception may pass through C.
template <typename Kernel>
int status_of(Kernel kernel) {
  try {
    kernel();
  } catch (const std::bad_alloc&) {
    return 1;
  }
  return 0;
}

}  // namespace

#define ORLA_KERNELS(T, precision)                                                                  \
  extern "C" int gradient_##precision(const Shape* s, const T* P, const T* W_hh, const T* on_gates, \
                                      const T* around, const T* inputs, const int64_t* stored,      \
                                      const T* cotangent, T* out) {                                 \
    return status_of(                                                                               \
        [&] { gradient(*s, *stored, P, W_hh, on_gates, around, inputs, cotangent, out); });         \
  }                                                                                                 \
  extern "C" int rebuild_##precision(const Shape* s, T* P, const T* W_hh, const T* on_gates,        \
                                     const T* around, const T* inputs) {                            \
    return status_of([&] { rebuild(*s, P, W_hh, on_gates, around, inputs); });                      \
  }

ORLA_KERNELS(double, float64)
ORLA_KERNELS(float, float32)
