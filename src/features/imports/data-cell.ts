import { dataProblem } from '../contacts/service.ts';
import { withZone } from '../../platform/input/times.ts';
import { findUnstorable } from '../../platform/input/storable.ts';
import type { ValidationErrors } from '../../errors.ts';

const STRUCTURED = /^[[{]/;
const SCALAR = /^(?:true|false|-?\d[\d.e+-]*)$/;

/**
 * Reads a cell of a contact's data. A cell is read as JSON only if it is written exactly as in an export: without
 * spaces, and numbers without superfluous digits, so that `0123` and `1.50` stay texts.
 * @param typed whether to read numbers and booleans as such, as in an export; objects and arrays always are
 * @param timezone of date-times that name none, as most exports write them: filters would read them in UTC
 */
export function readDataCell(text: string, typed: boolean, timezone?: string): unknown {
  if (!STRUCTURED.test(text) && !(typed && SCALAR.test(text))) {
    return timezone === undefined ? text : withZone(text, timezone);
  }
  try {
    const value: unknown = JSON.parse(text);
    if (JSON.stringify(value) !== text) return text;
    const errors: ValidationErrors = {};
    if (dataProblem({ value }) !== null) return text;
    findUnstorable(value, '', errors);
    return Object.keys(errors).length === 0 ? value : text;
  } catch {
    return text;
  }
}
