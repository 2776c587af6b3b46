export { AiSdkModel, type AiSdkModelOptions } from './ai-sdk-model.ts';
export type { AiSdkProviderTool } from './provider-tools.ts';
export type { AiSdkLanguageModel } from './language-model.ts';
