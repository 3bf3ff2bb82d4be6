import js from '@eslint/js';
import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';

/** The files of the workflows' bundle. They run again on every replay, so they must do the same each time. */
const workflowFiles = ['workflows/**/*.ts', 'test/support/workflows/**/*.ts'];
const tests = ['test/**/*.ts'];

const sizeRules = {
  // A switch counts once, however many cases it lists.
  complexity: ['error', { max: 15, variant: 'modified' }],
  'max-depth': ['error', 4],
  'max-params': ['error', 6],
  'max-lines': ['error', { max: 350, skipBlankLines: true, skipComments: true }],
  'max-lines-per-function': ['error', { max: 60, skipBlankLines: true, skipComments: true }],
};

const typedRules = {
  '@typescript-eslint/no-explicit-any': 'error',
  '@typescript-eslint/no-non-null-assertion': 'error',
  '@typescript-eslint/no-floating-promises': 'error',
  '@typescript-eslint/no-misused-promises': 'error',
  '@typescript-eslint/return-await': ['error', 'error-handling-correctness-only'],
  '@typescript-eslint/only-throw-error': 'error',
  '@typescript-eslint/prefer-promise-reject-errors': 'error',
  '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
  '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'separate-type-imports' }],
  '@typescript-eslint/no-import-type-side-effects': 'error',
  // A condition on an empty string or 0 is usually intended; one on an object that always exists never is.
  '@typescript-eslint/strict-boolean-expressions': [
    'error',
    {
      allowString: true,
      allowNumber: true,
      allowNullableBoolean: true,
      allowNullableString: true,
      allowNullableNumber: true,
    },
  ],
  '@typescript-eslint/no-unnecessary-type-assertion': 'error',
  '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
  // The functions that createX returns are closures and do not use `this`.
  '@typescript-eslint/unbound-method': 'off',
  // An async function without await still has to return a promise if an interface requires one.
  '@typescript-eslint/require-await': 'off',
  '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', ignoreRestSiblings: true }],
};

const generalRules = {
  eqeqeq: ['error', 'always'],
  'no-restricted-exports': [
    'error',
    { restrictDefaultExports: { direct: true, named: true, defaultFrom: true } },
  ],
  'no-restricted-properties': [
    'error',
    { object: 'process', property: 'env', message: 'src/config.ts is the only reader of the environment.' },
  ],
  'prefer-const': 'error',
  // Code against mail and header injection has to match control characters.
  'no-control-regex': 'off',
  'object-shorthand': 'error',
};

const workflowMessage =
  'Workflows are replayed: only @temporalio/workflow, relative pure code and `import type` are allowed here.';

/** A reader of a failed run sees the file's first line: it says what the file proves. */
const firstLine = {
  create: ({ sourceCode, report }) => ({
    Program(node) {
      const [first] = sourceCode.getAllComments();
      if (first?.type === 'Line' && first.loc.start.line === 1 && /^ [A-Z].*[.]$/.test(first.value)) return;
      report({
        node,
        message: 'The first line of a test file is a comment, one sentence: what the file proves.',
      });
    },
  }),
};

export default defineConfig(
  { ignores: ['node_modules/', '.carillon/', 'coverage/'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error', noInlineConfig: true } },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [...tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: { ...typedRules, ...generalRules, ...sizeRules },
  },
  {
    files: workflowFiles,
    rules: {
      '@typescript-eslint/no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              regex: '^(?!@temporalio/workflow$|\\.{1,2}/)',
              message: workflowMessage,
              allowTypeImports: true,
            },
          ],
        },
      ],
      'no-restricted-globals': [
        'error',
        ...['process', 'fetch', 'Buffer', 'performance', 'crypto'].map((name) => ({
          name,
          message: workflowMessage,
        })),
      ],
    },
  },
  { files: ['src/config.ts'], rules: { 'no-restricted-properties': 'off' } },
  {
    files: tests,
    rules: {
      // A describe block is as long as its tests, and tests set the environment of the programs that they start.
      'max-lines-per-function': 'off',
      'max-lines': ['error', { max: 500, skipBlankLines: true, skipComments: true }],
      'no-restricted-properties': 'off',
      // Parsed responses and Jest's asymmetric matchers are `any`; the test itself checks their shape.
      '@typescript-eslint/no-base-to-string': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
    },
  },
  {
    files: ['test/**/*.test.ts'],
    plugins: { tests: { rules: { 'first-line': firstLine } } },
    rules: { 'tests/first-line': 'error' },
  },
  {
    files: ['test/support/{global-*,*-reporter,runner/environment,runner/runtime}.ts'],
    rules: { 'no-restricted-exports': 'off' },
  },
  {
    files: ['src/platform/openapi/page/*.js'],
    languageOptions: { globals: { SwaggerUIBundle: 'readonly', URL: 'readonly', document: 'readonly' } },
  },
  { files: ['*.js'], languageOptions: { globals: { process: 'readonly' } } },
);
