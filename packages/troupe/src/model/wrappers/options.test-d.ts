// Checked by the compiler, never run: an option that may be undefined can be handed on.

import { expectTypeOf } from 'vitest';

import type { ContractOptions } from '../../testing/chat-model-contract.ts';
import type { ScriptedTurn } from '../../testing/scripted-model.ts';
import type { StructuredOptions } from '../structured/structured-output.ts';
import type { CacheOptions } from './cache-model.ts';
import type { FallbackOptions } from './fallback-model.ts';
import type { RateLimitOptions } from './rate-limit-model.ts';
import type { RecordingOptions } from './recording-model.ts';
import type { ReplayOptions } from './replay-model.ts';
import type { RetryOptions } from './retry-model.ts';

/** The options that can't be undefined. */
type Strict<Options> = {
  [Key in keyof Options]-?: undefined extends Required<Options>[Key] ? never : Key;
}[keyof Options];

expectTypeOf<Strict<{ a?: number; b: number; c?: number | undefined }>>().toEqualTypeOf<'a' | 'b'>();

expectTypeOf<Strict<CacheOptions>>().toBeNever();
expectTypeOf<Strict<ContractOptions>>().toBeNever();
expectTypeOf<Strict<FallbackOptions>>().toBeNever();
expectTypeOf<Strict<RateLimitOptions>>().toBeNever();
expectTypeOf<Strict<RecordingOptions>>().toEqualTypeOf<'write'>();
expectTypeOf<Strict<ReplayOptions>>().toBeNever();
expectTypeOf<Strict<RetryOptions>>().toBeNever();
expectTypeOf<Strict<ScriptedTurn>>().toBeNever();
expectTypeOf<Strict<StructuredOptions>>().toBeNever();
