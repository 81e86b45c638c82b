// pg-boss: a handler gets a whole batch, which is acknowledged together; woken by LISTEN.
'use strict'
const { PgBoss } = require('pg-boss')
const { chunk, dsn, payload, run, waits } = require('./harness.cjs')

const LATENCY_BATCH = 10
const { BENCH_BATCH: batch } = process.env

async function connect (options) {
  const boss = new PgBoss({ connectionString: dsn, schedule: false, useListenNotify: true, ...options })
  boss.on('error', console.error)
  await boss.start()
  return boss
}

run({
  connect: () => connect({ supervise: false }),
  setup: async () => {
    const boss = await connect({ supervise: false })
    await boss.createQueue('noop', { notify: true })
    await boss.createQueue('lat', { notify: true })
  },
  enqueueMany: async (boss, number) => {
    for (let first = 0; first < number; first += chunk) {
      const length = Math.min(chunk, number - first)
      await boss.insert('noop', Array.from({ length }, (_, i) => ({ data: payload(first + i) })))
    }
  },
  enqueue: (boss, queue, i) => boss.send(queue, { i }),
  work: async ({ noop, tick, stamp }) => {
    const boss = await connect()
    const options = { pollingIntervalSeconds: 0.5, burstWhenBatchFull: true }
    await boss.work('noop', { ...options, batchSize: Number(batch) }, async (jobs) => {
      if (waits) await Promise.all(jobs.map(noop))
      else jobs.forEach(() => tick())
    })
    await boss.work('lat', { ...options, batchSize: LATENCY_BATCH }, async (jobs) => jobs.forEach((job) => stamp(job.data.i)))
  }
})
