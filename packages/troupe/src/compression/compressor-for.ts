import { TroupeError } from '../errors.ts';
import type { MemoryBase } from '../memory/memory-base.ts';
import { isContextCompressor, type ContextCompressor } from './context-compressor.ts';
import { SummaryCompressor, type SummaryCompressorOptions } from './summary-compressor.ts';

/** Who keeps a conversation small: the memory itself, a compressor, or nobody. @throws TroupeError if it would be both. */
export function compressorFor(
  memory: MemoryBase,
  compression: SummaryCompressorOptions | undefined,
): ContextCompressor | undefined {
  if (!isContextCompressor(memory)) return compression && new SummaryCompressor(memory, compression);
  if (compression === undefined) return memory;
  throw new TroupeError('invalid_config', 'The memory keeps itself small already: leave `compression` out.');
}
