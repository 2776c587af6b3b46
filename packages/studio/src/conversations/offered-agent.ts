import { AgentBase } from 'troupe';

import type { OfferedAgent, Suggestion } from '../protocol.ts';

/** Wishes of a person for a branch. */
export interface AgentChoice {
  /** Name of a model, one of `models`. */
  readonly model?: string;
  /** Name of a set of tools, one of `toolSets`. */
  readonly toolSet?: string;
  /** Whether tools that change something ask first. */
  readonly asksBeforeTools?: boolean;
}

/** An agent with which people start conversations from the page. */
export interface AgentOffer {
  /** Makes the agent of one conversation. */
  readonly create: (choice: AgentChoice) => AgentBase | Promise<AgentBase>;
  /** Name for people. @default the key */
  readonly name?: string;
  readonly description?: string;
  readonly modelName?: string;
  readonly suggestions?: readonly Suggestion[];
  readonly models?: readonly string[];
  readonly toolSets?: readonly string[];
}

/** Agents by key: an offer, or an agent itself, with which there is one conversation. */
export type OfferedAgents = Readonly<Record<string, AgentOffer | AgentBase>>;

export function toOffer(given: AgentOffer | AgentBase): AgentOffer {
  return given instanceof AgentBase ? { name: given.name, create: () => given } : given;
}

export function describeOffer(key: string, given: AgentOffer | AgentBase): OfferedAgent {
  const {
    name = key,
    description = '',
    modelName,
    suggestions = [],
    models = [],
    toolSets = [],
  } = toOffer(given);
  return {
    key,
    name,
    description,
    ...(modelName !== undefined && { modelName }),
    suggestions,
    canStartMany: !(given instanceof AgentBase),
    models,
    toolSets,
  };
}
