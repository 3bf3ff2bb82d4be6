/**
 * Who may import whom. Rules apply to what runs, and unless a rule says otherwise to types as well.
 * A room is entered through its `service.ts`; `publicFiles` names what else it offers.
 */
const rooms =
  'accounts|brands|campaigns|contacts|delivery|domains|events|flows|imports|inbox|lists|mcp|messages|segments|suppressions|system-mail|templates|tracking|uploads|users|validation|webhooks';

/** Files of a room that others may import beside `service.ts`. Add one only where a service would merely pass it on. */
const publicFiles = [
  '^src/[^/]+/(events|schema|presenter|port|contract)[.]ts$',
  '^src/accounts/sandbox[.]ts$',
  '^src/brands/(create-brand|model)[.]ts$',
  '^src/users/password[.]ts$',
  '^src/delivery/(outcomes|transitions|authority)[.]ts$',
  // A sender's process needs these, and not the models that the room's service brings.
  '^src/webhooks/(publish|email-event-data)[.]ts$',
];

/** Code without effects, time or chance, that a workflow's bundle may hold. */
const pureFiles = [];

/** The only places that put rooms together. */
const composition = ['^src/main[.]ts$', '^src/(api|roles|cli)/'];

const typeOnly = ['type-only'];

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'Two files that need each other are one file, or miss a third.',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: typeOnly } },
    },
    {
      name: 'no-junk-drawers',
      comment: 'A file is named after what it does.',
      severity: 'error',
      from: {},
      to: { path: '(^|/)(utils?|helpers?|common|misc|shared)(/|[.][jt]s$)', pathNot: 'node_modules|^node:' },
    },
    {
      name: 'no-tests-in-product',
      severity: 'error',
      from: { path: '^(src|workflows|activities|migrations)/' },
      to: { path: '^test/' },
    },
    {
      name: 'no-development-packages-in-product',
      severity: 'error',
      from: { path: '^(src|workflows|activities|migrations)/' },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: typeOnly, pathNot: 'node_modules/@types/' },
    },
    {
      name: 'only-declared-packages',
      severity: 'error',
      from: {},
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    },
    { name: 'no-unresolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
    {
      name: 'rooms-through-their-service',
      comment: "Ask another room's service.ts, or one of its public files.",
      severity: 'error',
      from: { path: '^src/([^/]+)/', pathNot: composition },
      to: { path: `^src/(${rooms})/`, pathNot: ['^src/$1/', '^src/[^/]+/service[.]ts$', ...publicFiles] },
    },
    {
      name: 'floor-knows-no-room',
      comment: 'What every room stands on imports no room.',
      severity: 'error',
      from: { path: '^src/(db|egress|mime|smtp|storage|secrets|addresses|providers)/' },
      to: { path: `^src/(${rooms})/`, pathNot: [...publicFiles] },
    },
    {
      name: 'models-below-services',
      severity: 'error',
      from: { path: '^src/[^/]+/model[.]ts$' },
      to: { path: '^src/.*/(routes|service|presenter)[.]ts$', dependencyTypesNot: typeOnly },
    },
    {
      name: 'services-below-routes',
      severity: 'error',
      comment:
        'The floor has two parts without HTTP in them: keys that make a repetition harmless, and pages of a list.',
      from: { path: `^src/(${rooms})/`, pathNot: '/routes[.]ts$' },
      to: {
        path: ['/routes[.]ts$', '^src/http/'],
        pathNot: '^src/http/(idempotency|pagination)[.]ts$',
        dependencyTypesNot: typeOnly,
      },
    },
    {
      name: 'koa-in-http-only',
      comment: 'Services and models are called by activities and the command too.',
      severity: 'error',
      from: { pathNot: ['^src/http/', '^src/[^/]+/routes[.]ts$', '^src/providers/email/mailbox/', '^test/'] },
      to: { path: 'node_modules/(@types/)?(koa|@koa)/' },
    },
    {
      name: 'temporal-at-the-edges',
      comment: 'Services know the outbox, not the engine.',
      severity: 'error',
      from: { pathNot: ['^src/(temporal|local|roles|processes)/', '^(workflows|activities|test)/'] },
      to: { path: 'node_modules/@temporalio/' },
    },
    {
      name: 'nobody-imports-activities',
      severity: 'error',
      from: { pathNot: ['^activities/', '^src/(temporal|roles)/', '^test/'] },
      to: { path: '^activities/', dependencyTypesNot: typeOnly },
    },
    {
      name: 'workflows-are-pure',
      comment:
        'Only @temporalio/workflow, other workflows, pure files and types: all of it runs again on replay.',
      severity: 'error',
      from: { path: '^workflows/' },
      to: {
        pathNot: ['^workflows/', 'node_modules/@temporalio/workflow/', ...pureFiles],
        dependencyTypesNot: typeOnly,
      },
    },
    {
      name: 'contracts-import-nothing',
      severity: 'error',
      from: { path: '^workflows/[^/]+/contract[.]ts$' },
      to: { dependencyTypesNot: typeOnly },
    },
    {
      name: 'product-takes-contracts-only',
      comment: 'The bundle is made from workflows/; everybody else needs ids, names and input types.',
      severity: 'error',
      from: { path: '^(src|activities)/' },
      to: { path: '^workflows/', pathNot: '/contract[.]ts$', dependencyTypesNot: typeOnly },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^[.]carillon/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'types', 'node', 'default'],
    },
    reporterOptions: { text: { highlightFocused: true } },
  },
};
