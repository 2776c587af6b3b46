import type { SpanKind } from '@opentelemetry/api';

import { mergeGeneration } from '../model/generation.ts';
import type { TracedModel, TracedOperation } from '../tracing/traced-operation.ts';
import { ATTRIBUTES, OPERATIONS } from './attribute-names.ts';
import type { SafeText } from './safe-text.ts';
import { providerName } from './provider-names.ts';

/** Attributes of one span; undefined ones are not set. */
export type AttributeTable = Record<string, string | number | boolean | readonly string[] | undefined>;

/** Name, kind and attributes with which a span begins. */
export interface SpanStart {
  readonly name: string;
  readonly kind: keyof typeof SpanKind;
  readonly attributes: AttributeTable;
  /** Attributes of the metrics: few values, nothing of the conversation. */
  readonly dimensions: AttributeTable;
  /** Attributes with content of the conversation, made only if it is captured. */
  readonly content?: ((text: SafeText) => AttributeTable) | undefined;
}

type OperationOf<Type extends TracedOperation['type']> = Extract<TracedOperation, { type: Type }>;

/** The start of the span of an operation. */
export function spanStart(operation: TracedOperation): SpanStart {
  switch (operation.type) {
    case 'agent':
      return agentStart(operation);
    case 'model':
      return modelStart(operation);
    case 'tool':
      return toolStart(operation);
    case 'format':
      return internal(`${OPERATIONS.format} ${operation.target}`, {
        [ATTRIBUTES.operationName]: OPERATIONS.format,
        [ATTRIBUTES.formatTarget]: operation.target,
        [ATTRIBUTES.inputCount]: operation.msgCount,
      });
    case 'embedding':
      return embeddingStart(operation);
    case 'retrieval':
      return {
        ...internal(`${OPERATIONS.retrieval} ${operation.source}`, {
          [ATTRIBUTES.operationName]: OPERATIONS.retrieval,
          [ATTRIBUTES.dataSourceId]: operation.source,
        }),
        content: (text) => ({ [ATTRIBUTES.retrievalQuery]: text.json(operation.query()) }),
      };
    case 'compression':
      return internal('compress memory', { [ATTRIBUTES.compressionForced]: operation.isForced });
    case 'session':
      return internal(`${operation.action} session`, {
        [ATTRIBUTES.sessionComponents]: operation.components,
      });
    case 'subagent':
      return subagentStart(operation);
    case 'mcp':
      return mcpStart(operation);
    case 'a2a':
      return start(`a2a ${operation.agentName}`, 'CLIENT', { [ATTRIBUTES.agentName]: operation.agentName });
    case 'function':
      return functionStart(operation);
  }
}

function agentStart({ id, name, runId, replyId, agentPath, input }: OperationOf<'agent'>): SpanStart {
  const dimensions = { [ATTRIBUTES.operationName]: OPERATIONS.agent, [ATTRIBUTES.agentName]: name };
  return {
    name: `${OPERATIONS.agent} ${name}`,
    kind: 'INTERNAL',
    attributes: {
      ...dimensions,
      [ATTRIBUTES.agentId]: id,
      [ATTRIBUTES.runId]: runId,
      [ATTRIBUTES.replyId]: replyId,
      [ATTRIBUTES.agentPath]: agentPath,
    },
    dimensions,
    content: (text) => ({ [ATTRIBUTES.inputMessages]: text.messages(input) }),
  };
}

function modelStart({ model, request }: OperationOf<'model'>): SpanStart {
  const { messages, tools = [], structured } = request;
  const generation = mergeGeneration(model.generation, request.generation);
  const dimensions = modelDimensions(OPERATIONS.model, model);
  return {
    name: `${OPERATIONS.model} ${model.modelName}`,
    kind: 'CLIENT',
    attributes: {
      ...dimensions,
      [ATTRIBUTES.requestTemperature]: generation.temperature,
      [ATTRIBUTES.requestTopP]: generation.topP,
      [ATTRIBUTES.requestTopK]: generation.topK,
      [ATTRIBUTES.requestMaxTokens]: generation.maxTokens,
      [ATTRIBUTES.requestPresencePenalty]: generation.presencePenalty,
      [ATTRIBUTES.requestFrequencyPenalty]: generation.frequencyPenalty,
      [ATTRIBUTES.requestStopSequences]: generation.stop,
      [ATTRIBUTES.requestSeed]: generation.seed,
      [ATTRIBUTES.outputType]: structured === undefined ? undefined : 'json',
    },
    dimensions,
    content: (text) => ({
      [ATTRIBUTES.systemInstructions]: text.instructions(messages.filter(({ role }) => role === 'system')),
      [ATTRIBUTES.inputMessages]: text.messages(messages.filter(({ role }) => role !== 'system')),
      [ATTRIBUTES.toolDefinitions]: tools.length === 0 ? undefined : text.toolDefinitions(tools),
    }),
  };
}

function toolStart({ call, description }: OperationOf<'tool'>): SpanStart {
  const dimensions = { [ATTRIBUTES.operationName]: OPERATIONS.tool, [ATTRIBUTES.toolName]: call.name };
  return {
    name: `${OPERATIONS.tool} ${call.name}`,
    kind: 'INTERNAL',
    attributes: {
      ...dimensions,
      [ATTRIBUTES.toolType]: 'function',
      [ATTRIBUTES.toolDescription]: description,
      [ATTRIBUTES.toolCallId]: call.id,
    },
    dimensions,
    content: (text) => ({ [ATTRIBUTES.toolCallArguments]: text.json(call.rawInput ?? call.input) }),
  };
}

function embeddingStart({ model, inputCount, dimensions: count }: OperationOf<'embedding'>): SpanStart {
  const dimensions = modelDimensions(OPERATIONS.embedding, model);
  return {
    name: `${OPERATIONS.embedding} ${model.modelName}`,
    kind: 'CLIENT',
    attributes: {
      ...dimensions,
      [ATTRIBUTES.embeddingDimensions]: count,
      [ATTRIBUTES.inputCount]: inputCount,
    },
    dimensions,
  };
}

function subagentStart({ action, name, supervisor, tags }: OperationOf<'subagent'>): SpanStart {
  return internal(action === 'register' ? 'register subagent' : `subagent ${name}`, {
    [ATTRIBUTES.subagentName]: name,
    [ATTRIBUTES.subagentSupervisor]: supervisor,
    [ATTRIBUTES.subagentTags]: tags.length === 0 ? undefined : tags,
  });
}

function mcpStart({ side, method, target, server, transport }: OperationOf<'mcp'>): SpanStart {
  return start(
    target === undefined ? method : `${method} ${target}`,
    side === 'client' ? 'CLIENT' : 'SERVER',
    {
      [ATTRIBUTES.mcpMethod]: method,
      [ATTRIBUTES.mcpServer]: server,
      [ATTRIBUTES.toolName]: method === 'tools/call' ? target : undefined,
      [ATTRIBUTES.networkTransport]: transport && { stdio: 'pipe', http: 'tcp' }[transport],
    },
  );
}

function functionStart({ name, input }: OperationOf<'function'>): SpanStart {
  return {
    ...internal(`${OPERATIONS.function} ${name}`, {
      [ATTRIBUTES.operationName]: OPERATIONS.function,
      [ATTRIBUTES.functionName]: name,
    }),
    content: (text) => ({ [ATTRIBUTES.functionInput]: text.value(input) }),
  };
}

function internal(name: string, attributes: AttributeTable): SpanStart {
  return start(name, 'INTERNAL', attributes);
}

function start(name: string, kind: SpanStart['kind'], attributes: AttributeTable): SpanStart {
  return { name, kind, attributes, dimensions: {} };
}

function modelDimensions(operation: string, { modelName, vendorName, host }: TracedModel): AttributeTable {
  const [, address = host, port] = /^(.*):(\d+)$/.exec(host ?? '') ?? [];
  return {
    [ATTRIBUTES.operationName]: operation,
    [ATTRIBUTES.providerName]: providerName(vendorName, host),
    [ATTRIBUTES.requestModel]: modelName,
    [ATTRIBUTES.serverAddress]: address,
    [ATTRIBUTES.serverPort]: port === undefined ? undefined : Number(port),
  };
}
