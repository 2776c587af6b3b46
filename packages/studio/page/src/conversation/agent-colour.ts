/** Colours of agents in the tokens. From the ninth agent on, bars are dashed. */
const COLOURS = 8;

export interface AgentColour {
  readonly 'data-agent': string;
  readonly 'data-dashed'?: true;
}

/** Attributes for the colour of an agent; -1: a person. */
export function agentColour(colour: number): AgentColour {
  if (colour < 0) return { 'data-agent': 'user' };
  return { 'data-agent': String(colour % COLOURS), ...(colour >= COLOURS && { 'data-dashed': true }) };
}
