import type { AgentCard, AgentSkill } from '@a2a-js/sdk';

/** Skill on the card of an agent. */
export interface A2ASkill {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly tags?: readonly string[];
  readonly examples?: readonly string[];
}

/** Card of a served agent. */
export interface A2ACard {
  /** Name. @default the agent's own name */
  readonly name?: string;
  /** Purpose of the agent, for people and other agents. */
  readonly description: string;
  /** Version of the agent. @default '1.0.0' */
  readonly version?: string;
  readonly skills?: readonly A2ASkill[];
  /** Organisation that runs the agent. */
  readonly provider?: { readonly organization: string; readonly url: string };
  /** Media types. @default ['text/plain'] */
  readonly inputModes?: readonly string[];
  /** Media types. @default ['text/plain'] */
  readonly outputModes?: readonly string[];
  /** Authentication of clients: `bearer` for a token that `authenticate` accepts. */
  readonly security?: 'bearer';
  /** Address of the agent. @default the address of the request for the card */
  readonly url?: string;
}

const TEXT = ['text/plain'];

/** Makes a card of protocol 1.0. */
export function toServerCard(card: A2ACard & { readonly name: string }, url: string): AgentCard {
  const { name, description, version = '1.0.0', skills = [], provider, security } = card;
  return {
    name,
    description,
    version,
    supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', tenant: '', protocolVersion: '1.0' }],
    provider: provider && { ...provider },
    capabilities: { streaming: true, pushNotifications: false, extensions: [], extendedAgentCard: false },
    securitySchemes:
      security === undefined
        ? {}
        : {
            [security]: {
              scheme: {
                $case: 'httpAuthSecurityScheme',
                value: { description: '', scheme: 'bearer', bearerFormat: '' },
              },
            },
          },
    securityRequirements: security === undefined ? [] : [{ schemes: { [security]: { list: [] } } }],
    defaultInputModes: [...(card.inputModes ?? TEXT)],
    defaultOutputModes: [...(card.outputModes ?? TEXT)],
    skills: skills.map(toSkill),
    signatures: [],
  };
}

function toSkill({ id, name, description, tags = [], examples = [] }: A2ASkill): AgentSkill {
  return {
    id,
    name,
    description,
    tags: [...tags],
    examples: [...examples],
    inputModes: [],
    outputModes: [],
    securityRequirements: [],
  };
}
