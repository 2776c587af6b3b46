import type { Session } from '../../session/session.ts';
import type { CardSigning } from '../protocol/card-signature.ts';
import type { A2ACard } from './server-card.ts';

export interface A2AServerOptions {
  /** Public description of the agent. */
  readonly card: A2ACard;
  /** Signs the card. @default the card is unsigned */
  readonly signing?: CardSigning;
  /**
   * Identifies the sender of a request by a unique user id; undefined refuses the request. Tasks and
   * conversations belong to a user.
   * @default all requests have the same user
   */
  readonly authenticate?: (request: Request) => string | undefined | Promise<string | undefined>;
  /** Allowed host names and web origins. @default those of this machine */
  readonly allowedHosts?: readonly string[];
  /**
   * Maximum open conversations. Beyond it, the user with the most loses the least recently used one.
   * @default 1000
   */
  readonly maxContexts?: number;
  /**
   * Store of conversations: agent states and tasks. Tasks that wait for input then continue after a restart.
   * @default none: conversations end with the server
   */
  readonly session?: Session;
  /** Maximum bytes of one request. @default 20 MiB */
  readonly maxBodyBytes?: number;
}
