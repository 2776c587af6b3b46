import { TroupeError } from '../errors.ts';
import type { ToolResponse } from '../toolkit/tool/tool-response.ts';
import { isJsonObject, type JsonObject } from '../util/json.ts';
import type { AnySchema } from '../util/schema.ts';
import type { ReActAgentOptions } from '../react/react-agent-options.ts';
import { ReActAgent } from '../react/react-agent.ts';
import { delegateTo } from './delegate.ts';
import type { DelegationContext } from './grants/context-text.ts';
import { compressContext, contextMsg } from './grants/delegation-context.ts';
import { exportAgent } from './export-agent.ts';
import { dataText } from './grants/data-text.ts';
import type { SubAgentPermissions } from './grants/permission-bundle.ts';
import { describeQuery } from './query-input.ts';
import type { DelegateOptions, SubAgent, SubAgentClass, SubAgentInit } from './sub-agent.ts';

/** `ReActAgent` options that a subclass may set. The others come from the spec and the granted resources. */
export type TaskSubAgentOptions = Partial<
  Omit<ReActAgentOptions, 'name' | 'model' | 'tools' | 'toolkit' | 'console' | 'memory' | 'permissionPolicy'>
>;

const SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    task: {
      type: 'string',
      description: 'The whole task. The sub-agent knows nothing of this conversation.',
    },
    success_criteria: { type: 'string', description: 'Criterion for the task being done.' },
  },
  required: ['task'],
};

/**
 * Sub-agent with the ReAct loop. Usable directly; a subclass passes another system prompt or other
 * `ReActAgent` options. Long-term memory and knowledge in `permissions` are used only if a subclass passes them on.
 *
 * @example
 * ```ts
 * import { ReActAgent, registerSubAgent, TaskSubAgent, type SubAgentInit } from 'troupe';
 * import { OfflineModel } from 'troupe/offline';
 *
 * class Translator extends TaskSubAgent {
 *   constructor(init: SubAgentInit) {
 *     super(init, { sysPrompt: 'Translate the task to French.' });
 *   }
 * }
 * const host = new ReActAgent({ name: 'Friday', model: new OfflineModel(), console: false });
 * await registerSubAgent(host, Translator, { name: 'translate', description: 'Translates to French.' });
 * console.log(host.toolkit.has('agent_translate')); // true
 * ```
 */
export class TaskSubAgent extends ReActAgent implements SubAgent {
  static override readonly componentName: string = 'taskSubAgent';

  static readonly inputSchema: AnySchema = SCHEMA;
  static readonly preContextCompress: SubAgentClass['preContextCompress'] = compressContext;
  static readonly exportAgent = exportAgent;

  readonly permissions: SubAgentPermissions;
  readonly tags: readonly string[];

  constructor(init: SubAgentInit, options: TaskSubAgentOptions = {}) {
    const { name, spec, permissions, model, toolkit, memory } = init;
    if (model === undefined) {
      throw new TroupeError(
        'invalid_config',
        `The sub-agent '${name}' has no model: give it a modelOverride.`,
      );
    }
    const { permissionPolicy } = permissions;
    const given = { name, model, toolkit, tools: undefined, memory, permissionPolicy };
    const sysPrompt = spec.sysPrompt ?? options.sysPrompt ?? sysPromptFor(init);
    super({ ...options, sysPrompt, ...given });
    this.permissions = permissions;
    this.tags = spec.tags ?? [];
  }

  static describeTask(input: unknown): string {
    if (!isJsonObject(input) || typeof input['task'] !== 'string') return describeQuery(input);
    const { task, success_criteria: criteria, ...others } = input;
    return [
      task,
      ...(typeof criteria === 'string' && criteria !== '' ? [`It is done when: ${criteria}`] : []),
      ...(Object.keys(others).length > 0 ? [dataText(others)] : []),
    ].join('\n\n');
  }

  delegate(
    taskSummary: string,
    context?: DelegationContext,
    options?: DelegateOptions,
  ): Promise<ToolResponse> {
    return delegateTo(this, taskSummary, context, options);
  }

  async loadDelegationContext(context: DelegationContext): Promise<void> {
    await this.memory.add(contextMsg(context, this.permissions.supervisorName));
  }

  healthcheck(): boolean | Promise<boolean> {
    return true;
  }
}

function sysPromptFor({ name, spec, permissions: { supervisorName, filesystem } }: SubAgentInit): string {
  const lines = [
    `You are ${name}, and work for ${supervisorName}. ${spec.description}`,
    'Work on the task that you are given, with your tools, until it is done. Nobody can answer questions meanwhile.',
    'Then answer with the result alone: what you found or did, and what you could not.',
  ];
  if (filesystem !== undefined) lines.push('', 'Files that you may use:', filesystem.describe());
  return lines.join('\n');
}
