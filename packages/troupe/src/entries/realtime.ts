/** Entry `troupe/realtime`: agents that listen and speak. */

export { HeardText } from '../realtime/heard-text.ts';
export type { RealtimeEvent, RealtimeToolCall, ResponseStatus } from '../realtime/realtime-event.ts';
export {
  RealtimeModelBase,
  type RealtimeCapabilities,
  type RealtimeConnection,
  type RealtimeConnectOptions,
  type RealtimeSetup,
} from '../realtime/realtime-model-base.ts';
export type { RealtimePricing, RealtimeUsage } from '../realtime/realtime-usage.ts';
export {
  EnergyDetector,
  type EnergyDetectorOptions,
  type SpeechDetector,
} from '../realtime/speech-detector.ts';
export { VoicePipeline, type VoicePipelineOptions } from '../voice/pipeline/voice-pipeline.ts';
export { RealtimeAgent, type RealtimeAgentOptions } from '../voice/realtime-agent.ts';
export { readClientEvent, type ClientEvent, type MediaFormat } from '../voice/served/client-event.ts';
export { ModelEventWriter, type ModelEvent, type ToolUse } from '../voice/served/model-event.ts';
export { toServerEvent, type ServerEvent } from '../voice/served/server-event.ts';
export { serveTalk, type ServeTalkOptions, type TalkSocket } from '../voice/served/serve-talk.ts';
export { VoiceRoom, type RoomListener, type VoiceRoomOptions } from '../voice/room/voice-room.ts';
export type { TalkEvent, TalkListener } from '../voice/talk-event.ts';
export type { ConnectOptions, Talk, Talker } from '../voice/talk.ts';
export { plainYesOrNo, type VoiceDecision } from '../voice/voice-decision.ts';
export type { RealtimeWire } from '../realtime/wire/realtime-wire.ts';
export {
  SocketRealtimeModel,
  type OpenSocket,
  type SocketAddress,
  type SocketLike,
  type SocketRealtimeOptions,
} from '../realtime/wire/socket-realtime-model.ts';
