/** Drafts of flows, which may be unfinished: only the headers of their webhook steps are changed. */
import type { BrandScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import type { DraftForm } from '../drafts/service.ts';
import { maskFor, type MaskValue, sealValues } from './header-secrets.ts';
import { isPlainSecret, originOf } from './steps/secret-headers.ts';

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

/**
 * Masks the headers of webhook steps in a list, which may be anything. Other JSON in a step, such as a body, stays as it
 * is. The depth of a request is bounded.
 */
function maskSteps(list: unknown, mask: MaskValue): unknown {
  if (!Array.isArray(list)) return list;
  return list.map((step: unknown) => {
    if (!isObject(step)) return step;
    const masked = { ...step };
    const { type, headers, branches } = step;
    if (type === 'webhook' && isObject(headers))
      masked['headers'] = maskHeaders(headers, originOf(step), mask);
    for (const name of ['yes', 'no']) if (name in step) masked[name] = maskSteps(step[name], mask);
    if (Array.isArray(branches)) masked['branches'] = branches.map((branch) => maskContent(branch, mask));
    return masked;
  });
}

/** Masks the field `steps`: of a draft or of a branch. */
const maskContent = (content: unknown, mask: MaskValue): unknown =>
  isObject(content) && 'steps' in content
    ? { ...content, steps: maskSteps(content['steps'], mask) }
    : content;

type Content = Record<string, unknown>;

/**
 * Stores the values of headers of webhook steps apart from the draft of a flow, which has their masks.
 * @param maxValues how many values the brand may then have
 */
export function createFlowDraftForm(keyring: Keyring, maxValues?: number): DraftForm {
  return {
    store: (trx: Queryable, scope: BrandScope, content) =>
      sealValues(trx, keyring, scope, (mask) => maskContent(content, mask) as Content, maxValues),
    show: (scope, content) =>
      maskContent(content, (value, origin) => maskFor(keyring, scope, { origin, value })) as Content,
  };
}
