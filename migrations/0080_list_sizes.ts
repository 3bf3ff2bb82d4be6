/** Updates the description of two columns. */
export const name = '0080_list_sizes';

export const up = `
comment on column flows.steps_bytes is 'tells how large a page of a list is before its steps are read';
comment on column users.admin is 'whether clients see the user as an operator of the service; it gives no rights';
`;

export const down = `
comment on column flows.steps_bytes is 'a page of a list ends before its steps become too large';
comment on column users.admin is null;
`;
