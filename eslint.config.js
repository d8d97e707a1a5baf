/**
 * The linter looks for mistakes; prettier owns the layout, and test/tidy.test.ts owns the house rules that need to see
 * more than one file. Rules are either errors or off, and no file can switch one off for itself.
 */
import eslint from '@eslint/js';
import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';

/** Mistakes, everywhere. */
const everywhere = {
  linterOptions: { noInlineConfig: true, reportUnusedDisableDirectives: 'error' },
  rules: {
    eqeqeq: 'error',
    'no-self-compare': 'error',
    'no-template-curly-in-string': 'error',
    'no-unneeded-ternary': 'error',
    'no-var': 'error',
    'object-shorthand': 'error',
    'prefer-const': 'error',
    'max-lines': ['error', 500],
  },
};

/** What the types reveal. */
const typeAware = {
  files: ['**/*.ts'],
  extends: [tseslint.configs.strictTypeChecked],
  languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
  rules: {
    'no-restricted-exports': ['error', { restrictDefaultExports: { direct: true, named: true, defaultFrom: true } }],
    '@typescript-eslint/consistent-type-exports': 'error',
    '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
    '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
    '@typescript-eslint/prefer-readonly': 'error',
    '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
    '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
    // The compiler says the same, and lets a leading underscore mark what an interface forces on an implementation.
    '@typescript-eslint/no-unused-vars': 'off',
    // Implementing an asynchronous interface, `async` turns throws into rejections, with or without `await`.
    '@typescript-eslint/require-await': 'off',
    // Narrowing of a mutable field outlives an `await` in the eyes of the compiler: the second check is the needed one.
    '@typescript-eslint/no-unnecessary-condition': 'off',
    // What a callback may return is often `void | Promise<void>`.
    '@typescript-eslint/no-invalid-void-type': 'off',
    // What was caught is `unknown`, and is passed on as it is.
    '@typescript-eslint/only-throw-error': ['error', { allowThrowingUnknown: true }],
    '@typescript-eslint/prefer-promise-reject-errors': ['error', { allowThrowingUnknown: true }],
    // Whatever was thrown has to become text.
    '@typescript-eslint/no-base-to-string': 'off',
    // A type parameter that occurs once can still tie an option to a result.
    '@typescript-eslint/no-unnecessary-type-parameters': 'off',
  },
};

/** The engine: small functions, and nothing printed but by the command line. */
const engine = {
  files: ['src/**/*.ts', 'workers/**/*.ts', 'wasm/**/*.ts'],
  ignores: ['src/testing/**'],
  rules: {
    'max-lines-per-function': ['error', { max: 70, skipBlankLines: true, skipComments: true }],
    'no-console': 'error',
  },
};

const commandLine = { files: ['src/cli/**/*.ts'], rules: { 'no-console': 'off' } };

/** Tests and benchmarks may be blunt where an assertion catches the mistake anyway. */
const proving = {
  files: ['test/**/*.ts', 'bench/**/*.ts', 'examples/**/*.ts', 'src/testing/**/*.ts'],
  rules: {
    '@typescript-eslint/no-non-null-assertion': 'off',
    // node:test awaits its own tests.
    '@typescript-eslint/no-floating-promises': [
      'error',
      {
        allowForKnownSafeCalls: [{ from: 'package', package: 'node:test', name: ['test', 'it', 'describe', 'suite'] }],
      },
    ],
  },
};

/** Modules that run in a browser as they are. */
const page = {
  files: ['src/server/dashboard/*.js'],
  languageOptions: {
    globals: Object.fromEntries(
      [
        ...[
          'document',
          'window',
          'location',
          'fetch',
          'localStorage',
          'sessionStorage',
          'AbortSignal',
          'ResizeObserver',
        ],
        ...['setTimeout', 'clearTimeout', 'performance', 'URLSearchParams', 'TextEncoder', 'Event', 'atob'],
      ].map((name) => [name, 'readonly']),
    ),
  },
};

const scripts = {
  files: ['**/*.js', '**/*.mjs'],
  languageOptions: { globals: { console: 'readonly', process: 'readonly', URL: 'readonly', performance: 'readonly' } },
};

export default defineConfig(
  { ignores: ['dist/', 'node_modules/', '.data/'] },
  eslint.configs.recommended,
  everywhere,
  typeAware,
  engine,
  commandLine,
  proving,
  scripts,
  page,
);
