import { createCipheriv, createDecipheriv, hash, hkdfSync, randomBytes } from 'node:crypto';

const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** What a client must send again to get the answer of its first request again. */
export interface AnswerSecrets {
  /** The code or the refresh token. */
  token: string;
  clientId: string;
  /** Of a code. */
  codeVerifier: string | null;
  /** The other parameters, by which the answer may differ. */
  others: string[];
}

/** The database has only a digest of the token, so that a reader of the database cannot open its answers. */
function keyOf({ token, clientId, codeVerifier }: AnswerSecrets): Buffer {
  const context = JSON.stringify(['oauth answer', clientId, codeVerifier]);
  return Buffer.from(hkdfSync('sha256', token, hash('sha256', context, 'buffer'), 'answer', KEY_BYTES));
}

const boundTo = ({ others }: AnswerSecrets) => JSON.stringify(others);

export function sealAnswer(body: Buffer, secrets: AnswerSecrets): Buffer {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', keyOf(secrets), iv);
  const content = JSON.stringify([boundTo(secrets), body.toString('utf8')]);
  return Buffer.concat([iv, cipher.update(content, 'utf8'), cipher.final(), cipher.getAuthTag()]);
}

/**
 * @returns the body of the answer; `other request` if the parameters differ; null if the secrets do, or if the answer
 *   was changed
 */
export function openAnswer(sealed: Buffer, secrets: AnswerSecrets): Buffer | 'other request' | null {
  const iv = sealed.subarray(0, IV_BYTES);
  const decipher = createDecipheriv('aes-256-gcm', keyOf(secrets), iv, { authTagLength: TAG_BYTES });
  try {
    decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
    const opened = Buffer.concat([
      decipher.update(sealed.subarray(IV_BYTES, -TAG_BYTES)),
      decipher.final(),
    ]).toString('utf8');
    const [others, body] = JSON.parse(opened) as [string, string];
    return others === boundTo(secrets) ? Buffer.from(body) : 'other request';
  } catch {
    return null;
  }
}
