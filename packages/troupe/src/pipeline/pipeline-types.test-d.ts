// Checked by the compiler, never run: the types of the answers of pipelines follow from the agents and the schema.

import { expectTypeOf } from 'vitest';
import { z } from 'zod';

import type { AgentBase } from '../agent/agent-base.ts';
import type { Msg, MsgInput, StructuredMsg } from '../message/msg.ts';
import { FanoutPipeline, fanoutPipeline } from './fanout-pipeline.ts';
import { SequentialPipeline, sequentialPipeline } from './sequential-pipeline.ts';

declare const agent: AgentBase;
declare const list: readonly AgentBase[];
declare const anything: MsgInput;

const structuredModel = z.object({ title: z.string(), score: z.number().default(3) });
type Review = StructuredMsg<{ title: string; score: number }>;

// Functions.
expectTypeOf(sequentialPipeline([agent, agent], 'go', { structuredModel })).resolves.toEqualTypeOf<Review>();
expectTypeOf(sequentialPipeline([agent], anything, { onPending: 'close' })).resolves.toEqualTypeOf<Msg>();
expectTypeOf(sequentialPipeline(list, anything, { structuredModel })).resolves.toEqualTypeOf<
  Review | MsgInput
>();
expectTypeOf(fanoutPipeline(list, 'go', { structuredModel, maxConcurrent: 2 })).resolves.toEqualTypeOf<
  Review[]
>();
expectTypeOf(fanoutPipeline([agent], 'go')).resolves.toEqualTypeOf<Msg[]>();

// A pipeline that was made with agents always has an answer.
const sequence = new SequentialPipeline([agent, agent]);
expectTypeOf(sequence.call()).resolves.toEqualTypeOf<Msg>();
expectTypeOf(sequence.call('go')).resolves.toEqualTypeOf<Msg>();
expectTypeOf(sequence.call(undefined, { decisions: [] })).resolves.toEqualTypeOf<Msg>();
expectTypeOf(sequence.call('go', { structuredModel })).resolves.toEqualTypeOf<Review>();

// A pipeline of a list that may be empty may give its input back.
const maybeEmpty = new SequentialPipeline(list);
expectTypeOf(maybeEmpty.call()).resolves.toEqualTypeOf<Msg | undefined>();
expectTypeOf(maybeEmpty.call(anything)).resolves.toEqualTypeOf<Msg | MsgInput>();
expectTypeOf(maybeEmpty.call(anything, { structuredModel })).resolves.toEqualTypeOf<Review | MsgInput>();
const kept: SequentialPipeline = sequence; // the agents need not be named in a field or a parameter
expectTypeOf(kept.call()).resolves.toEqualTypeOf<Msg | undefined>();

const fanout = new FanoutPipeline([agent, agent]);
expectTypeOf(fanout.call('go', { structuredModel })).resolves.toEqualTypeOf<Review[]>();
expectTypeOf(fanout.call()).resolves.toEqualTypeOf<Msg[]>();
