/** Validations store the filters of the segments that their segment names, like campaigns do. */
export const name = '0069_validated_segments';

export const up = `
alter table validation_operations add column segments jsonb;
comment on column validation_operations.segments is
  'filters of the segments that the filters name, at any depth, by id; null: no segment, or started by a former process';
`;

export const down = `
alter table validation_operations drop column segments;
`;
