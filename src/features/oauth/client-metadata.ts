import { z } from 'zod';
import { describeJsonFault } from '../../platform/json/fault.ts';
import { hasUnknownScheme, readRedirectUri } from './redirect-uris.ts';

const MAX_NAME = 100;
const MAX_REDIRECT_URIS = 20;
/** Line breaks, control characters, and characters that reorder text or hide in it. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;

/** A client's description of itself, unusable for us. `message` is public. */
export class ClientMetadataError extends Error {
  readonly code: 'invalid_redirect_uri' | 'invalid_client_metadata';

  constructor(code: ClientMetadataError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

/** What we use of the description (RFC 7591, section 2). Its other fields are ignored; its logo is never loaded. */
const described = z.object({
  client_name: z.string().optional().catch(undefined),
  redirect_uris: z.array(z.string()).min(1).max(MAX_REDIRECT_URIS),
  // Clients say with which of their own servers they share users. We have no pairwise identifiers.
  sector_identifier_uri: z.never().optional(),
  jwks_uri: z.never().optional(),
});

/** The settings of every client: a public one, which may run on the user's machine. */
export const EVERY_CLIENT = {
  application_type: 'native',
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
} as const;

function nameOf(given: string | undefined): string | undefined {
  const shown = given?.replaceAll(INVISIBLE, ' ').trim().slice(0, MAX_NAME).trim();
  return shown === '' ? undefined : shown;
}

export type CleanMetadata = typeof EVERY_CLIENT & { client_name?: string; redirect_uris: string[] };

/**
 * Reads what a client says about itself, and leaves out what we do not use, such as redirect URIs with unknown schemes.
 * @throws ClientMetadataError
 */
export function cleanMetadata(given: unknown): CleanMetadata {
  const parsed = described.safeParse(given);
  if (!parsed.success) {
    const field = String(parsed.error.issues[0]?.path[0] ?? '');
    throw new ClientMetadataError(
      field === 'redirect_uris' ? 'invalid_redirect_uri' : 'invalid_client_metadata',
      field === ''
        ? 'the description must be a JSON object'
        : `${field} is missing, malformed or not supported`,
    );
  }
  const { client_name } = parsed.data;
  // The response shows which ones are left (RFC 7591, section 3.2.1).
  const redirect_uris = parsed.data.redirect_uris.filter((uri) => !hasUnknownScheme(uri));
  if (redirect_uris.length === 0 || !redirect_uris.every((uri) => readRedirectUri(uri))) {
    throw new ClientMetadataError(
      'invalid_redirect_uri',
      'redirect_uris: only https, http to this machine, and private schemes with a dot are allowed, without fragments',
    );
  }
  const name = nameOf(client_name);
  return { ...EVERY_CLIENT, redirect_uris, ...(name === undefined ? {} : { client_name: name }) };
}

/**
 * Reads the document of a client (draft-ietf-oauth-client-id-metadata-document).
 * @param clientId the URL of the document
 * @throws ClientMetadataError
 */
export function cleanDocument(clientId: string, text: string): CleanMetadata & { client_id: string } {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    const fault = describeJsonFault(text);
    throw new ClientMetadataError('invalid_client_metadata', `the document is not JSON: ${fault}`);
  }
  const metadata = cleanMetadata(given);
  const {
    client_id,
    client_secret,
    token_endpoint_auth_method: method = 'none',
  } = given as Record<string, unknown>;
  if (client_id !== clientId) {
    throw new ClientMetadataError('invalid_client_metadata', 'client_id is not the URL of the document');
  }
  if (client_secret !== undefined || method !== 'none') {
    throw new ClientMetadataError(
      'invalid_client_metadata',
      'the client must be a public one, without a secret',
    );
  }
  return { ...metadata, client_id: clientId };
}
