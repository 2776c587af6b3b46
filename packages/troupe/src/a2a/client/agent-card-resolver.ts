import type { JsonObject } from '../../util/json.ts';

/** A card as it is published, and where it was found. */
export interface FoundCard {
  readonly card: JsonObject;
  /** For a card from the network: its origin. The agent that it describes must be there too, unless others are allowed. */
  readonly origin?: string | undefined;
}

/** Finds the card of a remote agent. */
export interface AgentCardResolver {
  resolve(signal: AbortSignal): Promise<FoundCard>;
}
