import { bytesOf, samplesOf, type PcmAudio } from './pcm.ts';

/** Zero crossings of the filter on each side. */
const CROSSINGS = 24;
/** Share of the band that passes unchanged; the rest is the slope of the filter. */
const PASSBAND = 0.94;

/**
 * Changes the rate of one stream of sound. Keeps its state between pieces, so that a stream in pieces gives the same samples as
 * in one. A windowed sinc filter for each phase: no aliasing, no clicks at the borders of pieces.
 */
export class Resampler {
  readonly #step: number;
  readonly #phases: readonly Float64Array[];
  readonly #reach: number;
  /** Input that later output still needs. */
  #history: Float64Array;
  /** Position of the next output sample in `#history`, in units of 1 / number of phases. */
  #position: number;

  constructor(
    readonly from: number,
    readonly to: number,
  ) {
    const divisor = greatestCommonDivisor(from, to);
    const phases = to / divisor;
    this.#step = from / divisor;
    const cutoff = Math.min(1, to / from) * PASSBAND;
    this.#reach = Math.ceil(CROSSINGS / Math.min(1, to / from));
    this.#phases = Array.from({ length: phases }, (_, phase) =>
      filterOf(phase / phases, this.#reach, cutoff),
    );
    this.#history = new Float64Array(this.#reach); // silence before the first sample
    this.#position = this.#reach * phases;
  }

  /** The output that the input so far determines. */
  feed(data: Uint8Array): Uint8Array {
    if (this.from === this.to) return data;
    return this.#take(Float64Array.from(samplesOf(data)));
  }

  /** The rest of the output, after the last input. */
  end(): Uint8Array {
    return this.from === this.to ? new Uint8Array() : this.#take(new Float64Array(this.#reach));
  }

  #take(input: Float64Array): Uint8Array {
    const all = new Float64Array(this.#history.length + input.length);
    all.set(this.#history);
    all.set(input, this.#history.length);
    const count = this.#phases.length;
    const output: number[] = [];
    let position = this.#position;
    for (; Math.floor(position / count) + this.#reach < all.length; position += this.#step) {
      const at = Math.floor(position / count);
      const filter = this.#phases[position % count] ?? new Float64Array();
      let sum = 0;
      for (let i = 0; i < filter.length; i++) sum += (filter[i] ?? 0) * (all[at - this.#reach + 1 + i] ?? 0);
      output.push(Math.max(-32768, Math.min(32767, Math.round(sum))));
    }
    const used = Math.max(0, Math.min(all.length, Math.floor(position / count) - this.#reach + 1));
    this.#history = all.slice(used);
    this.#position = position - used * count;
    return bytesOf(Int16Array.from(output));
  }
}

/** A sound at another rate. */
export function resample({ data, rate }: PcmAudio, to: number): PcmAudio {
  if (rate === to) return { data, rate };
  const resampler = new Resampler(rate, to);
  const start = resampler.feed(data);
  const rest = resampler.end();
  const joined = new Uint8Array(start.length + rest.length);
  joined.set(start);
  joined.set(rest, start.length);
  return { data: joined, rate: to };
}

/** Weights of the input samples around an output sample, for one phase. */
function filterOf(offset: number, reach: number, cutoff: number): Float64Array {
  const weights = new Float64Array(2 * reach);
  let sum = 0;
  for (let i = 0; i < weights.length; i++) {
    const distance = i - reach + 1 - offset;
    const weight = cutoff * sinc(cutoff * distance) * blackman(distance / (reach + 1));
    weights[i] = weight;
    sum += weight;
  }
  return weights.map((weight) => weight / sum);
}

function sinc(x: number): number {
  return x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
}

/** Window that is 1 at 0, and 0 at -1 and 1. */
function blackman(x: number): number {
  return Math.abs(x) >= 1 ? 0 : 0.42 + 0.5 * Math.cos(Math.PI * x) + 0.08 * Math.cos(2 * Math.PI * x);
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
