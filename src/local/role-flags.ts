/**
 * Flags of Node for a role's process, before the program's name. A sender's messages outlive the young generation
 * while they wait for the provider; left to itself V8 lets what they leave behind grow to some 200 MB before it looks.
 * Here it looks first at 96 MB, and again whenever there is two and a half times what was in use. No limit: large
 * messages still get what they need.
 */
export function nodeFlagsOf(role: string): string[] {
  if (role !== 'sender') return [];
  return ['--max-semi-space-size=16', '--initial-old-space-size=96', '--heap-growing-percent=150'];
}
