import type { AgentCard, AgentSkill } from '@a2a-js/sdk';

/** One thing that an agent can do, for those who choose one. */
export interface A2ASkill {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly tags?: readonly string[];
  readonly examples?: readonly string[];
}

/** What the card of a served agent says. */
export interface A2ACard {
  /** @default the agent's own name */
  readonly name?: string;
  /** What the agent can do, for people and for other agents. */
  readonly description: string;
  /** Of the agent. @default '1.0.0' */
  readonly version?: string;
  readonly skills?: readonly A2ASkill[];
  /** Who runs it. */
  readonly provider?: { readonly organization: string; readonly url: string };
  /** Media types. @default ['text/plain'] */
  readonly inputModes?: readonly string[];
  /** Media types. @default ['text/plain'] */
  readonly outputModes?: readonly string[];
  /** How callers say who they are: `bearer` for a token that `authenticate` knows. */
  readonly security?: 'bearer';
  /** Where clients reach the agent. @default the address at which the card was asked for */
  readonly url?: string;
}

const TEXT = ['text/plain'];

/** A card of protocol 1.0. */
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
