// Checked by the compiler, never run: models of every version of the specification can be wrapped without a cast.

import type { createAnthropic } from '@ai-sdk/anthropic';
import type { createGoogleGenerativeAI } from '@ai-sdk/google';
import type { createOpenAI } from '@ai-sdk/openai';
import type { LanguageModelV2, LanguageModelV3, LanguageModelV4 } from '@ai-sdk/provider';
import type { createOpenAI as createOpenAIV2 } from 'ai-sdk-openai-v2';
import type { createOpenAI as createOpenAIV3 } from 'ai-sdk-openai-v3';
import { expectTypeOf } from 'vitest';

import { AiSdkModel } from './ai-sdk-model.ts';
import type { AiSdkLanguageModel } from './language-model.ts';

expectTypeOf<LanguageModelV2>().toExtend<AiSdkLanguageModel>();
expectTypeOf<LanguageModelV3>().toExtend<AiSdkLanguageModel>();
expectTypeOf<LanguageModelV4>().toExtend<AiSdkLanguageModel>();
expectTypeOf<ReturnType<ReturnType<typeof createOpenAIV2>>>().toExtend<AiSdkLanguageModel>();
expectTypeOf<ReturnType<ReturnType<typeof createOpenAIV3>>>().toExtend<AiSdkLanguageModel>();
expectTypeOf<ReturnType<ReturnType<typeof createOpenAI>>>().toExtend<AiSdkLanguageModel>();
expectTypeOf<ReturnType<ReturnType<typeof createAnthropic>>>().toExtend<AiSdkLanguageModel>();
expectTypeOf<ReturnType<ReturnType<typeof createGoogleGenerativeAI>>>().toExtend<AiSdkLanguageModel>();

declare const model: LanguageModelV2 | LanguageModelV3 | LanguageModelV4;
new AiSdkModel(model);
new AiSdkModel(model, { generation: { extra: { openai: { store: true } } } });

expectTypeOf<{
  specificationVersion: 'v1';
  provider: string;
  modelId: string;
}>().not.toExtend<AiSdkLanguageModel>();
// @ts-expect-error -- a name is no model
new AiSdkModel('openai/gpt-5');
// @ts-expect-error -- the model knows its own name
new AiSdkModel(model, { modelName: 'gpt-5' });
