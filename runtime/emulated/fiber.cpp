// Switches stacks: a dozen instructions for x86-64 and AArch64, ucontext
// elsewhere (two system calls for each switch).

#include "runtime/emulated/fiber.h"

#include <cstring>
#include <sys/mman.h>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#define GRADUS_FIBERS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GRADUS_FIBERS_SANITIZED 1
#endif
#endif
#ifdef GRADUS_FIBERS_SANITIZED
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace {

constexpr size_t kStack = size_t(64) * 1024, kGuard = 4096;

} // namespace

//===-- switching ---------------------------------------------------------===//

// gradus_switch_stacks(from, to) saves the caller's position in *from and
// continues at the position `to`. Registers that a call may change need not be
// saved.
#if defined(__x86_64__)

extern "C" void gradus_switch_stacks(void **from, void *to);
asm(R"(
.text
.hidden gradus_switch_stacks
.globl gradus_switch_stacks
.type gradus_switch_stacks, @function
gradus_switch_stacks:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size gradus_switch_stacks, . - gradus_switch_stacks
)");

/// A stack on which a switch finds six registers and the address to return to.
static void *firstPlace(char *end, void (*enter)()) {
  void **top = reinterpret_cast<void **>(end) - 2; // aligned as after a call
  *top = reinterpret_cast<void *>(enter);
  return std::memset(static_cast<void *>(top - 6), 0, 6 * sizeof(void *));
}

#elif defined(__aarch64__)

extern "C" void gradus_switch_stacks(void **from, void *to);
asm(R"(
.text
.hidden gradus_switch_stacks
.globl gradus_switch_stacks
.type gradus_switch_stacks, %function
gradus_switch_stacks:
  stp x19, x20, [sp, #-160]!
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x2, sp
  str x2, [x0]
  mov sp, x1
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  ldp x19, x20, [sp], #160
  ret
.size gradus_switch_stacks, . - gradus_switch_stacks
)");

static void *firstPlace(char *end, void (*enter)()) {
  void **place = reinterpret_cast<void **>(end - 160);
  std::memset(place, 0, 160);
  place[11] = reinterpret_cast<void *>(enter); // x30
  return place;
}

#else

#include <ucontext.h>

/// A position is a context in the stack that it belongs to, or on the caller's.
static void gradus_switch_stacks(void **from, void *to) {
  ucontext_t here;
  *from = &here;
  swapcontext(&here, static_cast<ucontext_t *>(to));
}

static void *firstPlace(char *end, void (*enter)()) {
  constexpr size_t room = (sizeof(ucontext_t) + 63) / 64 * 64;
  auto *context = reinterpret_cast<ucontext_t *>(end - room);
  getcontext(context);
  context->uc_stack.ss_sp = end - (kStack - kGuard);
  context->uc_stack.ss_size = kStack - kGuard - room;
  context->uc_link = nullptr;
  makecontext(context, enter, 0);
  return context;
}

#endif

//===-- fibers ------------------------------------------------------------===//

namespace gradus::runtime::emulated {

/// The running fiber; others wait in `resume`, if any.
static thread_local Fiber *current = nullptr;

namespace {

/// Stacks that no fiber uses now: the next kernel needs as many as the last,
/// and making them takes longer than most kernels do.
struct Stacks {
  std::vector<FiberStack> free;

  ~Stacks() {
    for (FiberStack &stack : free)
      munmap(stack.memory, kStack);
  }
  /// Returns a stack without memory if there is none.
  FiberStack take() {
    if (free.empty())
      return {make()};
    FiberStack stack = free.back();
    free.pop_back();
    return stack;
  }
  static char *make() {
    void *memory = mmap(nullptr, kStack, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
      return nullptr;
    mprotect(memory, kGuard, PROT_NONE);
    return static_cast<char *>(memory);
  }
};

thread_local Stacks stacks;

} // namespace

Fiber::~Fiber() {
  if (stack_.memory)
    stacks.free.push_back(stack_);
}

bool Fiber::start(void (*body)(void *), void *argument) {
  if (!stack_.memory)
    stack_ = stacks.take();
  if (!stack_.memory)
    return false;
#ifdef GRADUS_FIBERS_SANITIZED
  ASAN_UNPOISON_MEMORY_REGION(stack_.memory + kGuard, kStack - kGuard);
#endif
  body_ = body;
  argument_ = argument;
  done_ = false;
  own_ = firstPlace(stack_.memory + kStack, &Fiber::enter);
  return true;
}

void Fiber::resume() {
  Fiber *outer = current;
  current = this;
  switchIn();
  current = outer;
}

void Fiber::yield() { switchOut(); }

void Fiber::switchIn() {
#ifdef GRADUS_FIBERS_SANITIZED
  __sanitizer_start_switch_fiber(&callerFake_, stack_.memory + kGuard,
                                 kStack - kGuard);
#endif
  gradus_switch_stacks(&caller_, own_);
#ifdef GRADUS_FIBERS_SANITIZED
  __sanitizer_finish_switch_fiber(callerFake_, nullptr, nullptr);
#endif
}

void Fiber::switchOut() {
#ifdef GRADUS_FIBERS_SANITIZED
  __sanitizer_start_switch_fiber(&stack_.fake, callerStack_, callerBytes_);
#endif
  gradus_switch_stacks(&own_, caller_);
#ifdef GRADUS_FIBERS_SANITIZED
  __sanitizer_finish_switch_fiber(stack_.fake, &callerStack_, &callerBytes_);
#endif
}

void Fiber::run() {
#ifdef GRADUS_FIBERS_SANITIZED
  __sanitizer_finish_switch_fiber(stack_.fake, &callerStack_, &callerBytes_);
#endif
  body_(argument_);
  done_ = true;
  switchOut();
}

/// The first function on a new stack. A fiber whose body has ended is never
/// resumed.
void Fiber::enter() {
  current->run();
  __builtin_trap();
}

} // namespace gradus::runtime::emulated
