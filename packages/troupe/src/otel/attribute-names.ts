/**
 * Names of the attributes on spans and metrics. `gen_ai.*`, `mcp.*`, `server.*` and `error.*` are those of OpenTelemetry's semantic
 * conventions for generative AI (status: development; names as of semantic-conventions-genai, September 2026), `agentscope.*` are AgentScope's,
 * `troupe.*` are ours.
 */
export const ATTRIBUTES = {
  operationName: 'gen_ai.operation.name',
  providerName: 'gen_ai.provider.name',
  /** Id of the program's run, as in the run configuration. */
  conversationId: 'gen_ai.conversation.id',

  agentId: 'gen_ai.agent.id',
  agentName: 'gen_ai.agent.name',

  requestModel: 'gen_ai.request.model',
  requestTemperature: 'gen_ai.request.temperature',
  requestTopP: 'gen_ai.request.top_p',
  requestTopK: 'gen_ai.request.top_k',
  requestMaxTokens: 'gen_ai.request.max_tokens',
  requestPresencePenalty: 'gen_ai.request.presence_penalty',
  requestFrequencyPenalty: 'gen_ai.request.frequency_penalty',
  requestStopSequences: 'gen_ai.request.stop_sequences',
  requestSeed: 'gen_ai.request.seed',
  outputType: 'gen_ai.output.type',

  responseId: 'gen_ai.response.id',
  responseFinishReasons: 'gen_ai.response.finish_reasons',

  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cacheReadTokens: 'gen_ai.usage.cache_read.input_tokens',
  cacheWriteTokens: 'gen_ai.usage.cache_creation.input_tokens',
  reasoningTokens: 'gen_ai.usage.reasoning.output_tokens',
  /** `input` or `output`, on the metric of token usage. */
  tokenType: 'gen_ai.token.type',
  /** Cost in the currency of the model's `pricing`. */
  cost: 'troupe.usage.cost',

  toolName: 'gen_ai.tool.name',
  toolType: 'gen_ai.tool.type',
  toolDescription: 'gen_ai.tool.description',
  toolCallId: 'gen_ai.tool.call.id',

  embeddingDimensions: 'gen_ai.embeddings.dimension.count',
  dataSourceId: 'gen_ai.data_source.id',

  /** Content of the conversation: only with `captureContent`. */
  inputMessages: 'gen_ai.input.messages',
  outputMessages: 'gen_ai.output.messages',
  systemInstructions: 'gen_ai.system_instructions',
  toolDefinitions: 'gen_ai.tool.definitions',
  toolCallArguments: 'gen_ai.tool.call.arguments',
  toolCallResult: 'gen_ai.tool.call.result',
  retrievalQuery: 'gen_ai.retrieval.query.text',
  functionInput: 'agentscope.function.input',
  functionOutput: 'agentscope.function.output',

  functionName: 'agentscope.function.name',
  formatTarget: 'agentscope.format.target',
  /** Number of items in the prompt. */
  formatCount: 'agentscope.format.count',

  mcpMethod: 'mcp.method.name',
  mcpServer: 'troupe.mcp.server',
  networkTransport: 'network.transport',
  serverAddress: 'server.address',
  serverPort: 'server.port',

  errorType: 'error.type',
  /** Ending of an operation, a `SpanStatus`. */
  status: 'troupe.status',
  /** Ids that the events of the same agent call have. */
  runId: 'troupe.run.id',
  replyId: 'troupe.reply.id',
  /** Names of the agents from the outermost to this one. */
  agentPath: 'troupe.agent.path',
  /** Id of the message that an agent answered with. */
  messageId: 'troupe.message.id',
  subagentName: 'subagent.name',
  subagentSupervisor: 'subagent.supervisor',
  subagentTags: 'subagent.tags',
  inputCount: 'troupe.input.count',
  resultCount: 'troupe.result.count',
  compressionForced: 'troupe.compression.forced',
  compressionChanged: 'troupe.compression.changed',
  sessionComponents: 'troupe.session.components',
  sessionRevision: 'troupe.session.revision',
} as const;

/** Values of `gen_ai.operation.name`. */
export const OPERATIONS = {
  agent: 'invoke_agent',
  model: 'chat',
  tool: 'execute_tool',
  embedding: 'embeddings',
  retrieval: 'retrieval',
  format: 'format',
  function: 'invoke_generic_function',
} as const;

/** Names of the metrics. Units: tokens, and seconds. */
export const METRICS = {
  tokenUsage: 'gen_ai.client.token.usage',
  operationDuration: 'gen_ai.client.operation.duration',
  timeToFirstChunk: 'gen_ai.client.operation.time_to_first_chunk',
  agentDuration: 'gen_ai.invoke_agent.duration',
  toolDuration: 'gen_ai.execute_tool.duration',
} as const;

/** Name of the tracer and of the meter. */
export const INSTRUMENTATION_NAME = 'troupe';
export const INSTRUMENTATION_VERSION = '0.1.0';
