/** Where the servers are that some tests need. */

export const POSTGRES = { host: '127.0.0.1', port: 5432, user: 'root', database: 'test' };
export const REDIS_URL = 'redis://127.0.0.1:6379';
