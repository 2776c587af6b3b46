import { TroupeError } from '../errors.ts';
import type { MemoryBase } from '../memory/memory-base.ts';
import { isContextCompressor, type ContextCompressor } from './context-compressor.ts';
import { SummaryCompressor, type SummaryCompressorOptions } from './summary-compressor.ts';

/**
 * Returns the compressor of an agent: a memory that compresses itself, a new `SummaryCompressor`, or none.
 * @throws TroupeError if both a compressing memory and `compression` are given.
 */
export function compressorFor(
  memory: MemoryBase,
  compression: SummaryCompressorOptions | undefined,
): ContextCompressor | undefined {
  if (!isContextCompressor(memory)) return compression && new SummaryCompressor(memory, compression);
  if (compression === undefined) return memory;
  throw new TroupeError('invalid_config', 'The memory compresses itself. Remove the option `compression`.');
}
