/** Drafts of flows, which may be unfinished: only the headers of their webhook steps are changed. */
import type { BrandScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import type { DraftForm } from '../drafts/service.ts';
import { createHeaderSealer, maskFor } from './header-secrets.ts';
import { isPlainSecret, originOf } from './steps/secret-headers.ts';

type MaskValue = (value: string, origin: string) => string;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function maskHeaders(headers: Record<string, unknown>, origin: string, mask: MaskValue) {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      isPlainSecret(name, value) ? mask(value, origin) : value,
    ]),
  );
}

/** Masks the headers of everything that could be a webhook step, at any depth. The depth of a request is bounded. */
function maskAll(value: unknown, mask: MaskValue): unknown {
  if (Array.isArray(value)) return value.map((inner) => maskAll(inner, mask));
  if (!isObject(value)) return value;
  const isStep = value['type'] === 'webhook' && isObject(value['headers']);
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      isStep && name === 'headers' && isObject(inner)
        ? maskHeaders(inner, originOf(value), mask)
        : maskAll(inner, mask),
    ]),
  );
}

type Content = Record<string, unknown>;

/**
 * Stores the values of headers of webhook steps apart from the draft of a flow, which has their masks.
 * @param maxValues how many values the brand may then have
 */
export function createFlowDraftForm(keyring: Keyring, maxValues?: number): DraftForm {
  return {
    async store(trx: Queryable, scope: BrandScope, content) {
      const sealer = createHeaderSealer(keyring, scope);
      const masked = maskAll(content, (value, origin) => sealer.mask(value, origin));
      await sealer.store(trx, maxValues);
      return masked as Content;
    },
    show: (scope, content) =>
      maskAll(content, (value, origin) => maskFor(keyring, scope, { origin, value })) as Content,
  };
}
