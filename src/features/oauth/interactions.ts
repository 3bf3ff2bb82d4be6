import type { IncomingMessage } from 'node:http';
import type { McpScope } from '../../platform/auth/grant-caller.ts';
import type { Queryable } from '../../platform/db/queryable.ts';

/** The program that asks for access. All of it is what the program says about itself. */
export interface AskingClient {
  id: string;
  name: string;
  /** The host of the document that describes the client; null: the client registered itself. */
  host: string | null;
  /** Where the code will be sent: a host, or the scheme of a program on the user's machine, such as `cursor:`. */
  redirectHost: string;
  /** Whether the code goes to this machine, where any program may ask for it. */
  isLoopback: boolean;
  isVerified: false;
}

/** An authorization that waits for the user. */
export interface OpenInteraction {
  uid: string;
  client: AskingClient;
  /** What the client asks for: a subset of the scopes that exist. The user may grant less. */
  scopes: McpScope[];
  /** The URL that will accept the tokens, for `createGrant`. */
  resource: string;
}

/** What the user decided. `grantKey` is from `createGrant`, in the same transaction. */
export type Decision = { userId: number; grantKey: string } | { denied: true };

/** The authorizations that wait for pages. */
export interface Interactions {
  /**
   * @returns null if it has ended, or if another browser started it; or if the request is not for our own origin
   */
  find(request: IncomingMessage, uid: string): Promise<OpenInteraction | null>;
  /**
   * Ends an authorization.
   * @returns where to redirect the browser, with status 303: an URL of this service, which leads on to the client
   * @throws AppError `not_found` as `find`; `conflict` if it was decided already
   */
  finish(trx: Queryable, request: IncomingMessage, uid: string, decision: Decision): Promise<string>;
}
