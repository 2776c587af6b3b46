/** Places to keep sessions in, by name, with the moments of a save at which a test may end the process. */
import { Session } from '../src/session/session.ts';
import { JsonStore } from '../src/stores/json/json-store.ts';
import { PostgresDatabase } from '../src/stores/postgres/postgres-database.ts';
import { RedisClient } from '../src/stores/redis/redis-client.ts';
import { RedisSessionStore } from '../src/stores/redis/redis-session-store.ts';
import type { SqlDatabase, SqlQueries } from '../src/stores/sql/sql-database.ts';
import { SqlSessionStore } from '../src/stores/sql/sql-session-store.ts';
import { SqliteDatabase } from '../src/stores/sqlite/sqlite-database.ts';
import { POSTGRES, REDIS_URL } from './addresses.ts';

export type PlaceKind = 'json' | 'sqlite' | 'postgres' | 'redis';
export type Reached = (point: string) => void;

const SQL_POINTS = ['transaction', 'query 1', 'query 2', 'query 3', 'query 4', 'commit', 'end'];

/** The points of a save that adds something. */
export const POINTS: Readonly<Record<PlaceKind, readonly string[]>> = {
  json: ['before log', 'after log', 'after draft', 'after link', 'after sync', 'before prune', 'after prune'],
  sqlite: SQL_POINTS,
  postgres: SQL_POINTS,
  redis: ['LLEN', 'EVAL', 'EVAL sent', 'EVAL done'],
};

/** @param place a directory, a file, a schema or a prefix */
export function openPlace(kind: PlaceKind, place: string, reached: Reached = () => {}): Session {
  switch (kind) {
    case 'json':
      return new Session(new JsonStore(place, { reached }));
    case 'sqlite':
      return new Session(new SqlSessionStore(watched(new SqliteDatabase(place), reached), true));
    case 'postgres': {
      const database = new PostgresDatabase({ ...POSTGRES, max: 2, options: `-c search_path=${place}` });
      return new Session(new SqlSessionStore(watched(database, reached), true));
    }
    case 'redis':
      return new Session(new RedisSessionStore(watchedClient(reached), true, { prefix: place }));
  }
}

function watched(database: SqlDatabase, reached: Reached): SqlDatabase {
  return {
    dialect: database.dialect,
    query: (sql, params) => database.query(sql, params),
    exclusive: (body) => database.exclusive(body),
    close: () => database.close(),
    async transaction(body) {
      reached('transaction');
      let queries = 0;
      const result = await database.transaction(async (tx) => {
        const watchedTx: SqlQueries = {
          query(sql, params) {
            reached(`query ${++queries}`);
            return tx.query(sql, params);
          },
        };
        const value = await body(watchedTx);
        reached('commit');
        return value;
      });
      reached('end');
      return result;
    },
  };
}

function watchedClient(reached: Reached): RedisClient {
  const client = new RedisClient(REDIS_URL);
  const send = client.send.bind(client);
  client.send = async (...command) => {
    const name = String(command[0]);
    reached(name);
    const answer = send(...command);
    await new Promise((resolve) => void setImmediate(resolve)); // by then it has left
    reached(`${name} sent`);
    const value = await answer;
    reached(`${name} done`);
    return value;
  };
  return client;
}
