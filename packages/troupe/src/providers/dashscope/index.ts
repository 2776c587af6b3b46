export { DashScopeSttModel, type DashScopeSttOptions } from './dashscope-stt-model.ts';
export { DashScopeMultimodalEmbedding } from './dashscope-multimodal-embedding.ts';
export { DashScopeTextEmbedding } from './dashscope-text-embedding.ts';
export { DashScopeTtsModel, type DashScopeTtsOptions } from './dashscope-tts-model.ts';
export {
  DashScopeRealtimeModel,
  type DashScopeRealtimeOptions,
} from './realtime/dashscope-realtime-model.ts';
