import { dataProblem } from '../contacts/service.ts';
import { readStructure, readTypedCell } from '../../platform/csv/typed-cell.ts';
import { withZone } from '../../platform/input/times.ts';
import { findUnstorable } from '../../platform/input/storable.ts';
import type { ValidationErrors } from '../../errors.ts';

/** Whether the value can be stored as JSON. */
function isStorable(value: unknown): boolean {
  const errors: ValidationErrors = {};
  if (dataProblem({ value }) !== null) return false;
  findUnstorable(value, '', errors);
  return Object.keys(errors).length === 0;
}

/**
 * Reads a cell of a contact's data. Objects and arrays in JSON are read as such, unless something of them would be lost.
 * @param typed whether an export wrote the cell, so that numbers and booleans are read as such, too, and texts in
 *   quotation marks without these. Numbers with superfluous digits, such as `0123` and `1.50`, stay texts
 * @param timezone of date-times that name none, as most exports write them: filters would read them in UTC. An export of
 *   Carillon has times as they were stored, so it keeps them
 */
export function readDataCell(text: string, typed: boolean, timezone: string | null = null): unknown {
  const value = typed ? readTypedCell(text) : readStructure(text);
  if (value !== undefined && value !== text && isStorable(value)) return value;
  return typed || timezone === null ? text : withZone(text, timezone);
}
