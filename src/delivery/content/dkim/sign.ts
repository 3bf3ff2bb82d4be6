/** DKIM keys, records and signatures: RFC 6376 with RSA-SHA256, RFC 8463 with Ed25519. */
import { createPrivateKey, generateKeyPair, hash, sign as cryptoSign, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { relaxedField } from './canonical.ts';

export interface DkimKey {
  /** The `d=` domain, in A-labels. */
  domain: string;
  selector: string;
  algorithm: 'rsa' | 'ed25519';
  /** PKCS #8 PEM. */
  privateKeyPem: string;
  /** The `p=` tag: SubjectPublicKeyInfo for RSA, the bare 32 bytes for Ed25519. */
  publicKeyBase64: string;
}

/** What a signature covers. It is the same for all signers of a message. */
export interface SignatureInput {
  /** The `h=` tag, in order. Listing a name once more than it occurs prevents adding such a field (RFC 6376 §8.15). */
  headerNames: readonly string[];
  /** The fields of `headerNames` in that order, in relaxed form, each with CRLF. */
  canonicalHeaders: string;
  /** The `bh=` tag. */
  bodyHash: string;
  /** The `t=` tag: the message's date, so that signing again gives the same bytes. */
  signedAt: Date;
}

export interface DkimSigner {
  readonly domain: string;
  readonly selector: string;
  readonly algorithm: DkimKey['algorithm'];
  /** @returns the DKIM-Signature field, folded, without its last CRLF */
  sign(input: SignatureInput): Promise<string>;
}

const generateKeyPairAsync = promisify(generateKeyPair);
const rsaModulusBits = 2048;
const ed25519KeyBytes = 32;
const dnsName = /^[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?$/i;
const lineLength = 76;
const BASE64_PER_LINE = 72;

/** Creates a key pair in the thread pool. RSA-2048 takes about 100 ms of processor time, Ed25519 next to none. */
export async function generateDkimKey(
  input: Pick<DkimKey, 'domain' | 'selector' | 'algorithm'>,
): Promise<DkimKey> {
  const { domain, selector, algorithm } = input;
  const pair =
    algorithm === 'rsa'
      ? await generateKeyPairAsync('rsa', { modulusLength: rsaModulusBits })
      : await generateKeyPairAsync('ed25519');
  const spki = pair.publicKey.export({ type: 'spki', format: 'der' });
  const publicKey = algorithm === 'rsa' ? spki : spki.subarray(-ed25519KeyBytes);
  return {
    domain,
    selector,
    algorithm,
    privateKeyPem: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    publicKeyBase64: publicKey.toString('base64'),
  };
}

/** The DNS record that publishes a key. An RSA value exceeds one character-string of 255 bytes and must be split. */
export function dkimRecord(key: Pick<DkimKey, 'domain' | 'selector' | 'algorithm' | 'publicKeyBase64'>): {
  name: string;
  type: 'TXT';
  value: string;
} {
  return {
    name: `${key.selector}._domainkey.${key.domain}`,
    type: 'TXT',
    value: `v=DKIM1; k=${key.algorithm}; p=${key.publicKeyBase64}`,
  };
}

/**
 * Creates a signer from a private key.
 * @throws TypeError if domain or selector are not DNS names, or the key is not of the named algorithm
 */
export function createDkimSigner(key: Omit<DkimKey, 'publicKeyBase64'>): DkimSigner {
  const { domain, selector, algorithm } = key;
  if (!dnsName.test(domain) || !dnsName.test(selector))
    throw new TypeError('DKIM domain or selector is not a DNS name');
  const privateKey = createPrivateKey(key.privateKeyPem);
  if (privateKey.asymmetricKeyType !== algorithm) throw new TypeError(`DKIM key is not of type ${algorithm}`);
  const signData = algorithm === 'rsa' ? signRsa : signEd25519;

  return {
    domain,
    selector,
    algorithm,
    async sign(input) {
      const unsigned = signatureField({ domain, selector, algorithm }, input);
      const signature = await signData(`${input.canonicalHeaders}${relaxedField(unsigned)}`, privateKey);
      return `${unsigned}${foldBase64(signature.toString('base64'))}`;
    },
  };
}

/** The field, ending with an empty `b=` tag. */
function signatureField(
  key: Pick<DkimKey, 'domain' | 'selector' | 'algorithm'>,
  input: SignatureInput,
): string {
  return [
    `DKIM-Signature: v=1; a=${key.algorithm}-sha256; c=relaxed/relaxed;`,
    `d=${key.domain};`,
    `s=${key.selector}; t=${Math.floor(input.signedAt.getTime() / 1000)};`,
    `h=${foldNames(input.headerNames)};`,
    `bh=${input.bodyHash};`,
    'b=',
  ].join('\r\n ');
}

function foldNames(names: readonly string[]): string {
  let folded = '';
  let column = 3;
  for (const name of names) {
    if (column + name.length + 1 > lineLength) {
      folded += '\r\n ';
      column = 1;
    }
    folded += `${name}:`;
    column += name.length + 1;
  }
  return folded.slice(0, -1);
}

/** Verifiers ignore white space in `b=` (RFC 6376 §3.7). */
function foldBase64(text: string): string {
  let folded = text.slice(0, BASE64_PER_LINE);
  for (let at = BASE64_PER_LINE; at < text.length; at += BASE64_PER_LINE) {
    folded += `\r\n ${text.slice(at, at + BASE64_PER_LINE)}`;
  }
  return folded;
}

/** With a callback, signing runs in the thread pool. It takes about a millisecond, too long for the event loop. */
function signRsa(data: string, key: KeyObject): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    cryptoSign('sha256', Buffer.from(data), key, (error, signature) =>
      error ? reject(error) : resolve(signature),
    );
  });
}

/** Ed25519 signs the hash (RFC 8463 §3). It takes less time than a round trip to the thread pool. */
function signEd25519(data: string, key: KeyObject): Buffer {
  return cryptoSign(null, hash('sha256', data, 'buffer'), key);
}
