/**
 * Who may import whom. `src/` has six folders, and imports point down: cli and roles, then local and the activities,
 * then features, delivery, platform. The files beside them (config, errors, log) may be imported from anywhere.
 * Rules apply to types too, unless a rule says otherwise.
 */
const typeOnly = ['type-only'];

/** Files of a feature that other features may import. It has `index.ts` instead of `service.ts` if that only re-exports. */
const featureEntrances = '^src/features/[^/]+/(index|service|schema|events)[.]ts$';

/** One line per feature; imported by roles and the command only. */
const featureLists = '^src/features/(routes|upkeep|events)[.]ts$';

/** These put the parts together, so they also import a feature's loop, recovery and subscribers. */
const composition = [featureLists, '^src/roles/', '^activities/'];

/** The layers of the platform, lowest first. A folder imports only its own layer and lower ones. */
const platformLayers = [
  'csv|json|input',
  'db|secrets|dns|storage',
  'events|auth|egress|processes',
  'http|queue|temporal',
  'openapi|outbox|housekeeping|lanes',
];

const upwardsInPlatform = platformLayers.slice(0, -1).map((layer, index) => ({
  name: `platform-layer-${index + 1}-imports-down`,
  comment: 'The platform has five layers (docs/architecture.md); none imports one above it.',
  severity: 'error',
  from: { path: `^src/platform/(${layer})/` },
  to: { path: `^src/platform/(${platformLayers.slice(index + 1).join('|')})/` },
}));

const fastPath = '^src/delivery/(content/skeletons|sender/rendering)/';

/** The storeys of delivery, lowest first. A storey imports only itself and lower ones. */
const deliveryStoreys = ['terms', 'content', 'ledger', 'wire', 'sender'];

const upwardsInDelivery = deliveryStoreys.slice(0, -1).map((storey, index) => ({
  name: `delivery-${storey}-imports-down`,
  comment: 'Delivery has five storeys (src/delivery/README.md); none imports one above it.',
  severity: 'error',
  from: { path: `^src/delivery/${storey}/` },
  to: { path: `^src/delivery/(${deliveryStoreys.slice(index + 1).join('|')})/` },
}));

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    {
      name: 'no-cycles',
      comment:
        'Merge two files that import each other, or move what they share to a third. Pages are loaded by their routes.',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: [...typeOnly, 'dynamic-import'] } },
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
      from: { path: '^(src|workflows|activities|migrations|console)/' },
      to: { path: '^test/' },
    },
    {
      name: 'console-uses-the-api-only',
      comment:
        'The console runs in a browser: it knows the service by the types of its API (npm run console:types).',
      severity: 'error',
      from: { path: '^console/' },
      to: { pathNot: ['^console/', 'node_modules/'] },
    },
    {
      name: 'console-is-built-and-not-imported',
      severity: 'error',
      // Tests of what needs no browser import its file.
      from: { pathNot: '^(?:test/)?console/' },
      to: { path: '^console/' },
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

    // Downwards only.
    {
      name: 'platform-knows-no-feature',
      comment: 'The platform is below delivery and the features, so it imports neither.',
      severity: 'error',
      from: { path: '^src/platform/' },
      to: { path: '^src/(features|delivery|local|roles|cli)/' },
    },
    ...upwardsInPlatform,
    ...upwardsInDelivery,
    {
      name: 'delivery-knows-no-feature',
      comment: 'Features reach delivery as arguments: events, contents, links, signers.',
      severity: 'error',
      from: { path: '^src/delivery/' },
      to: { path: '^src/(features|local|roles|cli)/' },
    },
    {
      name: 'one-way-into-the-fast-path',
      comment: 'The fast path of campaigns is one function (docs/rendering.md), so that it can be left out.',
      severity: 'error',
      from: { path: '^(src|activities)/', pathNot: fastPath },
      to: { path: fastPath, pathNot: '^src/delivery/sender/rendering/fast-composer[.]ts$' },
    },
    {
      name: 'features-below-roles',
      severity: 'error',
      from: { path: '^src/features/' },
      to: { path: '^src/(local|roles|cli)/' },
    },
    {
      name: 'local-below-roles',
      severity: 'error',
      from: { path: '^src/local/' },
      to: { path: '^src/(roles|cli)/', pathNot: '^src/roles/names[.]ts$' },
    },
    {
      name: 'features-through-their-entrances',
      comment: "A feature imports only another feature's service.ts (or index.ts), schema.ts or events.ts.",
      severity: 'error',
      from: { path: '^src/features/([^/]+)/' },
      to: { path: '^src/features/[^/]+/', pathNot: ['^src/features/$1/', featureEntrances] },
    },
    {
      name: 'features-are-put-together-elsewhere',
      comment: 'All other folders enter a feature through these files, too.',
      severity: 'error',
      from: { path: '^(src|activities)/', pathNot: ['^src/features/[^/]+/', ...composition] },
      to: { path: '^src/features/', pathNot: [featureEntrances, featureLists] },
    },
    {
      name: 'composition-is-imported-by-roles',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(roles|cli)/' },
      to: { path: featureLists },
    },
    {
      name: 'models-below-services',
      severity: 'error',
      from: { path: '^src/.*/model[.]ts$' },
      to: {
        path: ['^src/.*/(routes|service|presenter)[.]ts$', '^src/features/[^/]+/index[.]ts$'],
        dependencyTypesNot: typeOnly,
      },
    },
    {
      name: 'services-below-routes',
      comment: 'Activities and the command call services, too, so services know nothing of HTTP.',
      severity: 'error',
      from: {
        path: '^src/(features|delivery)/',
        pathNot: ['[/-]routes[.]ts$', '^src/features/webhooks/openapi[.]ts$'],
      },
      to: { path: ['[/-]routes[.]ts$', '^src/platform/http/'], dependencyTypesNot: typeOnly },
    },
    {
      name: 'upkeep-without-models',
      comment: 'Every process loads these files, and models would cost each process 25 MB.',
      severity: 'error',
      from: { path: '/upkeep[.]ts$' },
      to: { path: ['/model[.]ts$', 'node_modules/(objection|knex)/'], reachable: true },
    },

    // Frameworks at their places.
    {
      name: 'koa-in-http-only',
      severity: 'error',
      from: { pathNot: ['^src/platform/http/', '[/-]routes[.]ts$', '^src/local/mailbox/', '^test/'] },
      to: { path: 'node_modules/(@types/)?(koa|@koa)/' },
    },
    {
      name: 'temporal-at-the-edges',
      comment: 'Features know the outbox and the contract, not the engine.',
      severity: 'error',
      from: {
        pathNot: [
          '^src/platform/(temporal|lanes)/',
          '^src/platform/housekeeping/schedule[.]ts$',
          '^src/local/engine/',
          '^(workflows|activities|test)/',
        ],
      },
      to: { path: 'node_modules/@temporalio/' },
    },
    {
      name: 'activities-enter-by-roles',
      severity: 'error',
      from: { pathNot: ['^activities/', '^src/roles/', '^test/'] },
      to: { path: '^activities/' },
    },
    {
      name: 'workflows-are-pure',
      comment: 'A workflow is replayed, so it imports only @temporalio/workflow and contracts.',
      severity: 'error',
      from: { path: '^workflows/' },
      to: { pathNot: ['^workflows/', 'node_modules/@temporalio/workflow/'] },
    },
    {
      name: 'contracts-import-nothing',
      severity: 'error',
      from: { path: '^(workflows/[^/]+|src/platform/temporal)/contract[.]ts$' },
      to: {},
    },
    {
      name: 'product-takes-contracts-only',
      comment: 'The bundle is made from workflows/; everything else needs ids, names and input types.',
      severity: 'error',
      from: { path: '^(src|activities)/' },
      to: { path: '^workflows/', pathNot: '/contract[.]ts$' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^([.]carillon|console/dist[^/]*)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'types', 'node', 'default'],
    },
    reporterOptions: { text: { highlightFocused: true } },
  },
};
