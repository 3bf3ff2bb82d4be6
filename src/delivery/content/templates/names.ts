/** The names that every content may use. All others are variables of the template. */

/** The fields of `contact`, in addition to everything in `contact.data`. */
export const CONTACT_FIELDS = [
  'id',
  'uuid',
  'first_name',
  'last_name',
  'email',
  'phone',
  'source',
  'country_code',
  'created_at',
  'data',
] as const;

/** The fields of `brand`: those of the API's Brand that are safe and useful to show. */
export const BRAND_FIELDS = [
  'company_name',
  'company_description',
  'physical_address',
  'logo',
  'brand_color',
  'text_color',
  'bg_color',
  'links',
] as const;

/** The fields of `event`, in addition to everything in `event.data`. */
export const EVENT_FIELDS = [
  'event',
  'amount',
  'resource_uid',
  'resource_name',
  'resource_url',
  'created_at',
  'data',
] as const;

const CAMPAIGN_FIELDS = ['id', 'name'] as const;

const fields: Record<string, ReadonlySet<string>> = {
  contact: new Set<string>(CONTACT_FIELDS),
  brand: new Set<string>(BRAND_FIELDS),
  event: new Set<string>(EVENT_FIELDS),
  campaign: new Set<string>(CAMPAIGN_FIELDS),
  unsubscribe_url: new Set(),
  preferences_url: new Set(),
};

/** Whether Carillon defines this name, rather than the template's variables. @param name the first part of a path */
export function isServiceName(name: string): boolean {
  return Object.hasOwn(fields, name.split('.', 1)[0] ?? '');
}

/** Whether a path that begins with such a name exists, such as `contact.first_name`. */
export function isKnownPath(path: string): boolean {
  const [name = '', field] = path.split('.', 2);
  if (!Object.hasOwn(fields, name)) return false;
  return field === undefined || (fields[name]?.has(field) ?? false);
}
