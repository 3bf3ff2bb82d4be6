/** Why a URL may not be requested. */
const refusals = {
  invalid_url: 'is not a valid URL',
  scheme: 'must begin with https://',
  credentials: 'must not contain a user name or password',
  port: 'must not use the port of another well-known service',
  address: 'must lead to a public internet address',
  not_found: 'has a host name without an address',
  dns: 'has a host name that could not be looked up',
} as const;

/** Why a request got no complete response. */
const faults = {
  timeout: 'no response in time',
  connect: 'no connection',
  tls: 'no secure connection',
  reset: 'the connection was lost before the response was complete',
  invalid_response: 'the response is not HTTP',
  invalid_request: 'the request cannot be sent',
  redirects: 'too many redirects',
  canceled: 'canceled',
} as const;

export type RefusalReason = keyof typeof refusals;
export type EgressReason = RefusalReason | keyof typeof faults;

/** A reason with a message for people. */
export interface EgressProblem<Reason extends EgressReason = EgressReason> {
  ok: false;
  reason: Reason;
  message: string;
}

const texts: Record<EgressReason, string> = { ...refusals, ...faults };

/** @param detail such as the system's error code */
export function problem<Reason extends EgressReason>(reason: Reason, detail?: string): EgressProblem<Reason> {
  return { ok: false, reason, message: detail ? `${texts[reason]} (${detail})` : texts[reason] };
}

const TLS_CODE = /^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|EPROTO|HOSTNAME_MISMATCH)/;
const HTTP_CODE = /^UND_ERR_(HEADERS_OVERFLOW|RES_|RESPONSE|NOT_SUPPORTED)/;
const REQUEST_CODE = /^(UND_ERR_(INVALID_ARG|REQ_)|ERR_INVALID)/;

/**
 * Classifies an error of a connection.
 * @param connected whether the request already had a connection
 */
export function problemOf(error: unknown, connected: boolean): EgressProblem {
  if (error instanceof BlockedConnection) return problem('address');
  const { code = '', name } = error as { code?: string; name?: string };
  if (/TIMEOUT|ETIMEDOUT/.test(code)) return problem('timeout', code);
  if (TLS_CODE.test(code)) return problem('tls', code);
  if (name === 'HTTPParserError' || HTTP_CODE.test(code)) return problem('invalid_response', code);
  if (REQUEST_CODE.test(code)) return problem('invalid_request', code);
  return problem(connected ? 'reset' : 'connect', code);
}

/** Thrown if a connection was made to an address that may not be reached. */
export class BlockedConnection extends Error {}
