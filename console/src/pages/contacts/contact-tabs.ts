/** The pages that belong to contacts. */
export const contactTabs = [
  { to: '/contacts', text: 'Contacts' },
  { to: '/bulk-actions', text: 'Bulk actions' },
] as const;
