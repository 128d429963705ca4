import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    environment: 'jsdom',
    include: ['{protocol,views,widgets,lab}/tests/**/*.test.ts'],
    passWithNoTests: true,
    maxWorkers: 2,
    // A machine may be busy, and no test is about time.
    testTimeout: 30_000
  }
});
