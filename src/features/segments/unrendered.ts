import { findLiquid, noLiquid } from '../../delivery/terms/texts/no-liquid.ts';
import type { Problem } from './parse.ts';

/** More levels than filters can have. */
const MAX_LEVELS = 50;

/**
 * Finds Liquid in new filters, which would be compared as it is written. Stored filters may have it.
 * @param hint what to do instead
 */
export const unrenderedProblems = (filters: readonly unknown[], hint = ''): Problem[] =>
  filters.flatMap((filter, index) => {
    const found = findLiquid(filter, MAX_LEVELS);
    return Array.isArray(found) ? [{ path: [index, ...found], message: noLiquid('filters') + hint }] : [];
  });
