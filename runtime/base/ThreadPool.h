// What an executable needs of a pool of threads; host programs that have one of their own implement this.
#pragma once

namespace graphc {

class ThreadPool {
public:
  using Work = void (*)(void *argument, int chunk, int worker);

  virtual ~ThreadPool() = default;
  /// Workers plus the caller; `worker` numbers given to Work are below this, the caller's is 0.
  virtual int concurrency() const = 0;
  /// Takes the pool for the calling thread; false when another caller has it.
  virtual bool tryEnter() = 0;
  virtual void leave() = 0;
  /// Between tryEnter() and leave(): runs work(argument, 0 … chunks-1), each once, and returns when all are done.
  virtual void run(int chunks, Work work, void *argument) = 0;
};

} // namespace graphc
