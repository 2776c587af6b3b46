import { createHash, randomBytes, randomUUID } from 'node:crypto';

import type { ServiceDatabase } from '../store/database.ts';
import { prepareTables } from '../store/tables.ts';
import { bearerToken, type Authenticate } from './authenticate.ts';

/** A token as it is listed: without the token itself, which nobody keeps. */
export interface TokenInfo {
  readonly id: string;
  readonly user: string;
  readonly name: string;
  readonly createdAt: number;
  readonly revokedAt: number | undefined;
}

/** Tokens of users in the database of a service. Only hashes are stored; a token is shown once, when it is made. */
export class BearerTokens {
  readonly #db: ServiceDatabase;
  #isReady: Promise<void> | undefined;

  constructor(db: ServiceDatabase) {
    this.#db = db;
  }

  /** Makes a token, which is not shown again. */
  async make(user: string, name = ''): Promise<{ readonly id: string; readonly token: string }> {
    if (user === '') throw new TypeError('A token needs a user.');
    await this.#prepare();
    const token = `troupe_${randomBytes(32).toString('base64url')}`;
    const id = randomUUID();
    await this.#db.query(
      'INSERT INTO service_tokens (hash, id, user_id, name, created_at) VALUES (?, ?, ?, ?, ?)',
      [hashOf(token), id, user, name, Date.now()],
    );
    return { id, token };
  }

  /** Revokes a token. @returns false for an unknown token, or one revoked before */
  async revoke(id: string): Promise<boolean> {
    await this.#prepare();
    const sql = 'UPDATE service_tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL RETURNING id';
    return (await this.#db.query(sql, [Date.now(), id])).length > 0;
  }

  async list(): Promise<readonly TokenInfo[]> {
    await this.#prepare();
    const rows = await this.#db.query(
      'SELECT id, user_id, name, created_at, revoked_at FROM service_tokens ORDER BY created_at, id',
    );
    return rows.map((row) => ({
      id: String(row['id']),
      user: String(row['user_id']),
      name: String(row['name']),
      createdAt: Number(row['created_at']),
      revokedAt: typeof row['revoked_at'] === 'number' ? row['revoked_at'] : undefined,
    }));
  }

  /** For the option `auth` of a service. */
  readonly authenticate: Authenticate = async (request) => {
    const token = bearerToken(request);
    if (token === undefined) return undefined;
    await this.#prepare();
    const sql = 'SELECT user_id FROM service_tokens WHERE hash = ? AND revoked_at IS NULL';
    const [row] = await this.#db.query(sql, [hashOf(token)]);
    return row && { user: String(row['user_id']) };
  };

  #prepare(): Promise<void> {
    this.#isReady ??= prepareTables(this.#db).catch((error: unknown) => {
      this.#isReady = undefined; // tried again with the next request
      throw error;
    });
    return this.#isReady;
  }
}

/** A plain hash is enough: tokens have 256 random bits, so nobody can guess them by their hashes. */
function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
