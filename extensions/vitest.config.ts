import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    environment: 'jsdom',
    include: ['{protocol,views,widgets,lab}/tests/**/*.test.ts'],
    passWithNoTests: true,
    maxWorkers: 2
  }
});
