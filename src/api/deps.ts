import type { Logger } from 'pino';
import type { Login } from '../auth/login-service.ts';
import type { SessionTokens } from '../auth/session-token.ts';
import type { Config } from '../config.ts';
import type { Database } from '../db/database.ts';
import type { Waker } from '../db/wake.ts';
import type { RateLimiter } from '../http/rate-limit.ts';
import type { Keyring } from '../secrets/keyring.ts';

/** What the rooms' routes are made of; each takes of it what it needs. */
export interface ApiDeps {
  config: Config;
  database: Database;
  log: Logger;
  keyring: Keyring;
  login: Login;
  tokens: SessionTokens;
  rateLimiter: RateLimiter;
  /** Tells the senders and the dispatcher of rows just committed. */
  waker: Waker;
}
